/**
 * The routes of the status page: `/`, `/runs/ID`, the style sheet, and the actions: `POST /cards/ID`, and `POST /hooks/NAME` for signed webhooks.
 * Requests of other agents and chat clients on the same listener are handled by a2a/server.ts and mcp-server/http.ts.
 * After a decision it answers with a redirect, so that reloading the page never decides twice.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createTaskServer, type TaskServer, type TaskServing } from "../a2a/server.ts";
import { ClearedError, kindOf, toWire, type WireError } from "../kernel/errors.ts";
import {
  type Context,
  HOOKS,
  HTTP_STATUS,
  createShell,
  formOf,
  isHook,
  isMcp,
  isTask,
  listen,
  type Listening,
  senderOf,
  type Shell,
} from "../outside/http.ts";
import { KEY_HEADER, SIGNATURE_HEADER } from "../outside/notices/webhook.ts";
import type { Clock } from "../kernel/ports.ts";
import type { Facts } from "../app/facts.ts";
import type { McpApi } from "../app/mcp-api.ts";
import type { Tasks } from "../app/tasks.ts";
import { createMcpServer } from "../mcp-server/http.ts";
import { SESSION_MS } from "../app/sessions.ts";
import type { Hooks } from "../app/timers.ts";
import { askPage, asksPage } from "./ask-view.ts";
import { entryOf } from "./card-view.ts";
import { createTimes, frame, type Html, html, nothing } from "./html.ts";
import { statusPage } from "./page.ts";
import { formAgain, pairPage } from "./form-again.ts";
import { proposalPage, proposalsPage } from "./proposal-view.ts";
import { bookedBy, byUrgency, errorView, runPage } from "./run-view.ts";

const RUNS = 40;
// Only these show their steps on the status page; reading 40 histories per request would be slow for little use.
const RUNS_WITH_STEPS = 8;
const STEPS_SHOWN = 25;
const PAGE = 200;
const REASON_LIMIT = 500;
const SET = "set.";
const COOKIE = "cleared";
const WITHOUT_PAIRING = /^\/(?:pair|style\.css|icon\.svg)$/;

const STYLE = readFileSync(join(import.meta.dirname, "style.css"), "utf8");
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="14" fill="#1d6b57"/><path d="M9 16.5l5 5 9-11" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

type Served = TaskServing & { hooks: Hooks; tasks: Tasks; mcp: McpApi; host: string };

/** Serves the page, tasks of other agents, and tools for chat clients; on the loopback address by default. @throws PORT_BUSY */
export function serveWeb(facts: Facts, clock: Clock, port: number, { hooks, tasks, mcp, host, ...more }: Served): Promise<Listening> {
  const others = createTaskServer(tasks, more);
  const clients = createMcpServer(tasks, mcp, more.onError);
  const serve = (context: Context) => (isMcp(context) ? clients(context) : others.serve(context));
  return listen(createStatusApp(facts, clock, hooks, { ...others, serve }), port, host);
}

/** The app to hand to `listen` of http.ts. */
export function createStatusApp(facts: Facts, clock: Clock, hooks?: Hooks, tasks?: TaskServer): Shell["app"] {
  const { app, token } = createShell((context, error, status) =>
    tasks !== undefined && isTask(context) ? tasks.refuse(context, error, status) : refusedPage(context, error, status),
  );
  if (tasks !== undefined) app.use((context, next) => (isTask(context) ? tasks.serve(context) : next()));
  // Any program that reaches the loopback address could read the books: one in a jail, or, where the kernel does not identify users, any.
  app.use(async (context, next) => {
    if (WITHOUT_PAIRING.test(context.req.path) || isHook(context) || (await sessionOf(context)) !== undefined) return next();
    return context.html(pairPage(token, ""), 403);
  });

  app.get("/", async (context) => {
    const now = clock.now();
    const decidedId = wholeNumber(context.req.query("decided"));
    const [told, person, decided] = await Promise.all([
      all({
        ...{ state: facts.state(), agents: facts.agents(), runs: facts.runs(RUNS), cards: facts.cards(), waiting: facts.waiting() },
        ...{ balances: facts.balances(), proposals: facts.proposals(), asks: facts.asks() },
      }),
      sessionOf(context).then((session) => (session === undefined ? null : facts.person(session))),
      decidedId === null ? null : facts.card(decidedId),
    ]);
    const { state, cards, runs } = told;
    const entries = await facts.entries(cards.flatMap((card) => entryOf(card) ?? []));
    const shown = byUrgency(runs).slice(0, RUNS_WITH_STEPS);
    const steps = await Promise.all(shown.map(async ({ id }) => [id, await facts.steps(id, { limit: STEPS_SHOWN })] as const));
    const others = person === null ? new Set<number>() : await facts.othersOf(cards, person);
    const more = { person, decided, entries, steps: new Map(steps), others, token, times: createTimes(state.timezone, now), now };
    return context.html(statusPage({ ...told, ...more }));
  });

  app.get("/runs/:id", async (context) => {
    const now = clock.now();
    const from = wholeNumber(context.req.query("from")) ?? 0;
    const id = context.req.param("id");
    const run = await facts.run(id);
    if (run === null) return errorPage(context, { code: "RUN_UNKNOWN", message: `There is no run ${id.slice(0, 60)}.` }, 404);
    const [state, steps, cards, events] = await Promise.all([
      facts.state(),
      facts.steps(id, { from, limit: PAGE + 1 }),
      facts.cards(id),
      facts.events(id, { from: 1, limit: PAGE }),
    ]);
    const next = steps[PAGE]?.seq ?? null;
    const booked = await facts.entries(bookedBy(steps.slice(0, PAGE)));
    return context.html(
      runPage({ run, token, booked, steps: steps.slice(0, PAGE), cards, events, next, times: createTimes(state.timezone, now), now }),
    );
  });

  const around = async () => ({ token, times: createTimes((await facts.state()).timezone, clock.now()) });

  app.get("/proposals", async (context) => context.html(proposalsPage(await facts.proposals(), (await around()).times)));

  app.get("/proposals/:number", async (context) => {
    const number = wholeNumber(context.req.param("number"));
    const found = number === null ? null : await facts.proposal(number);
    if (found === null) return errorPage(context, { code: "PROPOSAL_UNKNOWN", message: "There is no proposal of that number." }, 404);
    return context.html(proposalPage({ ...found, ...(await around()) }));
  });

  app.get("/asks", async (context) => context.html(asksPage(await facts.asks(), await around())));

  app.get("/asks/:id", async (context) => {
    const id = wholeNumber(context.req.param("id"));
    const found = id === null ? null : await facts.ask(id);
    if (found === null) return errorPage(context, { code: "ASK_UNKNOWN", message: "There is no request of that number." }, 404);
    return context.html(askPage(found, await around()));
  });

  app.post("/asks", async (context) => {
    const { text = "" } = await formOf(context);
    return context.redirect(`/asks/${await facts.request({ text }, await signedIn(context))}`, 303);
  });

  app.post("/asks/:id", async (context) => {
    const id = wholeNumber(context.req.param("id"));
    if (id === null) throw new ClearedError("ASK_UNKNOWN", "There is no request of that number.");
    const { answer = "", option = "" } = await formOf(context);
    await facts.request({ id, text: answer.trim() === "" ? option : answer }, await signedIn(context));
    return context.redirect(`/asks/${id}`, 303);
  });

  app.post("/cards/:id", async (context) => {
    const id = wholeNumber(context.req.param("id"));
    if (id === null) throw new ClearedError("CARD_UNKNOWN", "There is no card of that number.");
    const form = await formOf(context);
    const decision = form["decision"];
    if (decision !== "approved" && decision !== "rejected")
      throw new ClearedError("USAGE", "Nothing was decided: press one of the buttons.");
    const reason = (form["reason"] ?? "").trim().slice(0, REASON_LIMIT);
    const account = form["account"] ?? "";
    const despite = (form["despite"] ?? "").trim().slice(0, REASON_LIMIT);
    const set = Object.fromEntries(
      Object.entries(form).flatMap(([name, text]) => (name.startsWith(SET) ? [[name.slice(SET.length), text]] : [])),
    );
    const answer = {
      decision,
      ...(reason === "" ? {} : { reason }),
      ...(despite === "" || decision === "rejected" ? {} : { despite }),
      // A rejection applies to the card as it is; an account or text chosen with it has no meaning.
      ...(account === "" || decision === "rejected" ? {} : { account }),
      ...(Object.keys(set).length === 0 || decision === "rejected" ? {} : { set }),
      ...(form["keep"] === "yes" ? { keep: true as const } : {}),
      ...(form["seen"] === undefined || decision === "rejected" ? {} : { seen: form["seen"] }),
    } as const;
    await facts.decide(id, answer, await signedIn(context));
    return context.redirect(`/?decided=${id}#cards`, 303);
  });

  app.post("/entries/:id/correct", async (context) => {
    await formOf(context);
    return context.redirect(`/#card-${await facts.correction(context.req.param("id"))}`, 303);
  });

  app.post("/entries/:id/rule", async (context) => {
    await formOf(context);
    const made = await facts.rule(context.req.param("id"), await signedIn(context));
    return context.redirect("ask" in made ? `/asks/${made.ask}` : `/#card-${made.card}`, 303);
  });

  app.get("/pair", (context) => context.html(pairPage(token, context.req.query("code") ?? "")));
  app.post("/pair", async (context) => {
    const secret = await facts.pair((await formOf(context))["code"] ?? "");
    context.header("set-cookie", `${COOKIE}=${secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${SESSION_MS / 1000}`);
    return context.redirect("/", 303);
  });

  app.post(`${HOOKS}:name`, async (context) => {
    const [name, signature, key] = [
      context.req.param("name"),
      context.req.header(SIGNATURE_HEADER) ?? "",
      context.req.header(KEY_HEADER) ?? "",
    ];
    try {
      if (hooks === undefined) throw new ClearedError("WEBHOOK_REFUSED", "No webhook is served here.");
      const { runs, created } = await hooks({ name, body: new Uint8Array(await context.req.arrayBuffer()), signature, key });
      return context.json({ run: runs[0], runs, created }, 202);
    } catch (error) {
      const { code, message } = toWire(error);
      const internal = kindOf(code) === "internal";
      const status =
        code === "WEBHOOK_REFUSED" ? 401 : code === "AGENT_UNKNOWN" ? 404 : code === "RUN_KEY" ? 409 : HTTP_STATUS[kindOf(code)];
      return context.json({ error: { code, message: internal ? "Something went wrong here." : message } }, status);
    }
  });

  app.get("/style.css", (context) => context.body(STYLE, 200, { "content-type": "text/css; charset=utf-8" }));
  app.get("/icon.svg", (context) => context.body(ICON, 200, { "content-type": "image/svg+xml" }));
  app.notFound((context) => errorPage(context, { code: "FILE_MISSING", message: "There is no such page." }, 404));
  return app;

  /** What another page sent is shown in no form. */
  async function refusedPage(context: Context, error: WireError, status: number): Promise<Response> {
    const isOwn = context.req.method === "POST" && error.code !== "WEB_REFUSED" && !isHook(context);
    const look = { facts, token, now: clock.now() };
    // The message is told even if the form cannot be.
    const form = isOwn ? await formAgain(context.req.path, await formOf(context), look).catch(() => null) : null;
    return errorPage(context, error, status, form ?? nothing);
  }

  /** The cookie of a paired browser; null for a program of the same user, as the kernel confirms; undefined for anybody else. */
  async function sessionOf(context: Context): Promise<string | null | undefined> {
    const cookie = cookieOf(context);
    if (cookie !== null && (await facts.person(cookie)) !== null) return cookie;
    return senderOf(context) === "own" ? null : undefined;
  }

  /** @throws APPROVAL_IDENTITY */
  async function signedIn(context: Context): Promise<string | null> {
    const session = await sessionOf(context);
    if (session !== undefined) return session;
    throw new ClearedError("APPROVAL_IDENTITY", "This browser is not paired: run `cleared pair`, and enter its code at /pair.");
  }
}

/** Awaits all properties of an object. */
async function all<T extends object>(wanted: { [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const pairs = Object.entries<Promise<unknown>>(wanted).map(async ([name, value]) => [name, await value]);
  return Object.fromEntries(await Promise.all(pairs)) as T;
}

/** What failed and why, with a way back. The message of an internal error stays in the log. */
function errorPage(context: Context, error: WireError, status: number, form: Html = nothing): Response | Promise<Response> {
  const title = kindOf(error.code) === "internal" ? "Something went wrong" : status === 404 ? "Not found" : "That was not possible";
  return context.html(
    frame(title, nothing, html`<div role="alert">${errorView(error)}</div>${form}<p><a href="/">Back to the status page</a></p>`),
    status as 400,
  );
}

function cookieOf(context: Context): string | null {
  return /(?:^|; )cleared=([\w-]{43})(?:;|$)/.exec(context.req.header("cookie") ?? "")?.[1] ?? null;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null;
}
