/**
 * Tasks that runs give to remote agents. The run store records which remote task belongs to a call, so that a resumed run finds its own again:
 * the message has an id derived from run and step, and is sent a second time only if that is harmless.
 */
import { createHash } from "node:crypto";
import type { Database } from "../../engine/store/database.ts";
import { type Link, dropLink, keepLink, linkAtWork, linkOf, linksLeft } from "../../engine/store/remote-calls.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import type { Clock, Once, RemoteAgents, RemoteCall, RemoteStep, Sealer } from "../../kernel/ports.ts";
import type { Trust } from "../../workspace/settings/config.ts";
import { ANSWER_BYTES, createRedactor, forPeople } from "../mcp/answer.ts";
import type { Remote, RemoteTask } from "./remote.ts";

export type AgentPool = ReturnType<typeof createRemoteAgents>;

/** Followed this long within one call; then the run waits and is woken later. */
const FOLLOW_MS = 20_000;
const FIRST_LOOK_MS = 1000;
const LONGEST_LOOK_MS = 60_000;
const LOOK_PATIENCE_MS = 5000;
const SENDS = 3;
const ENDED = ["completed", "failed", "canceled", "rejected"];

export function createRemoteAgents(options: {
  trust: Pick<Trust, "a2a">;
  database: Database;
  clock: Clock;
  sent: Once;
  secrets(): Promise<(name: string) => string>;
  sealer(): Sealer;
}) {
  const { trust, database, clock, sent: kept, secrets, sealer } = options;
  const redactor = createRedactor();
  const { safe } = redactor;
  const remotes = new Map<string, Promise<Remote>>();
  const looks = new Map<string, { due: number; wait: number }>();
  const quiet = new AbortController().signal;

  const specOf = (name: string) => {
    const spec = Object.hasOwn(trust.a2a, name) ? trust.a2a[name] : undefined;
    if (spec !== undefined) return spec;
    const names = Object.keys(trust.a2a);
    const there = `${didYouMean(name, names)} It names ${names.join(", ") || "none"}`;
    throw new ClearedError(
      "REMOTE_UNKNOWN",
      `There is no agent "${name}" under a2a: in trust.yaml.${there}; add a2a: {${name}: {url: ADDRESS}}.`,
    );
  };
  const remoteOf = async (name: string): Promise<Remote> => {
    const { url, token } = specOf(name);
    const secret = async () => {
      if (token === undefined) return null;
      const value = (await secrets())(token.slice("secret:".length));
      redactor.add(token.slice("secret:".length), value);
      return value;
    };
    const make = async () => {
      const [{ createRemote }, { createFetch }] = await Promise.all([import("./remote.ts"), import("../mcp/addresses.ts")]);
      return createRemote({ name, url, fetch: createFetch({ rules: null, maxBytes: ANSWER_BYTES }), token: secret });
    };
    return remotes.getOrInsertComputed(name, make);
  };

  const newLink = (link: Pick<Link, "key" | "run" | "agent" | "state" | "timeout" | "sent">): Link => {
    return { task: "", at: clock.now(), answered: null, seal: null, ...link };
  };
  const keep = (link: Link): Link => keepLink(database, link);
  const sealOf = ({ key, agent, task }: Pick<Link, "key" | "agent" | "task">): string => sealer()("task", key, agent, task);
  /** Whether this user gave the task, here: nobody else's is canceled. */
  const isOurs = (link: Link): boolean => link.seal === sealOf(link);
  const ended = ({ id, state, text, data }: RemoteTask): RemoteStep => ({
    is: "ended",
    task: id,
    state,
    text: redactor.text(text),
    data: redactor.json(data),
  });

  /** `open`: it may still carry out its task. */
  const lost = (agent: string, error: unknown, open: boolean) =>
    new ClearedError(
      "REMOTE_DOWN",
      `${agent} does not answer: ${forPeople((error as Error).message)}.${open ? " It may still do what it was given: look there." : ""}`,
      { data: { open } },
    );

  /** Null if it is unknown whether the task was accepted: once a send was lost (`inDoubt`: an earlier one), a later refusal does not tell. */
  const give = async (
    remote: Remote,
    call: RemoteCall,
    key: string,
    reads: boolean,
    harmless: boolean,
    inDoubt: boolean,
    abort: AbortSignal,
  ) => {
    const { text, data, skill } = call;
    let doubt = inDoubt;
    for (let tries = 1; ; tries++) {
      try {
        return await remote.send({ id: uuidOf("message", key), context: uuidOf("context", key), text, data, skill }, abort);
      } catch (error) {
        if (abort.aborted) throw error;
        const code = error instanceof ClearedError ? error.code : "";
        const [refused, never] = [code === "REMOTE_REFUSED", code === "REMOTE_DOWN"];
        doubt ||= !refused && !never;
        const found = doubt ? await remote.find(uuidOf("context", key), abort) : null;
        if (found !== null) return found;
        if (refused || tries >= SENDS || (doubt && !harmless)) {
          if (doubt && !reads) return null;
          throw refused || never ? error : lost(call.agent, error, false);
        }
        await new Promise((done) => setTimeout(done, 200 * 2 ** tries));
      }
    }
  };

  /** Its time is over: it is canceled at the remote agent if possible, so that nobody does it twice. */
  const giveUp = async (remote: Remote, link: Link, timeoutMs: number, reads: boolean): Promise<RemoteStep> => {
    const canceled = isOurs(link) ? remote.cancel(link.task, quiet) : Promise.reject<RemoteTask>();
    const end = await canceled.catch(() => remote.get(link.task, quiet).catch(() => null));
    if (end !== null && ENDED.includes(end.state) && end.state !== "canceled") return ended(end);
    const stopped = reads || end?.state === "canceled";
    if (stopped) keep({ ...link, state: "given_up" });
    const left = stopped ? "It was canceled there" : `It may still be at it as task ${link.task}, and could not be canceled: look there`;
    throw new ClearedError("REMOTE_TIMEOUT", `${link.agent} did not come to an end within ${timeoutMs / 1000} s. ${left}.`, {
      data: { open: !stopped },
    });
  };

  const classOf = (agent: string, skill?: string): "read" | "mutate" => {
    const { class: kind, skills } = specOf(agent);
    return skill !== undefined && Object.hasOwn(skills, skill) ? (skills[skill] ?? kind) : kind;
  };

  const forRun = (run: string): RemoteAgents => ({
    classOf: async (agent, skill) => classOf(agent, skill),
    follow: (call, { key, inDoubt, abort, leaving }) =>
      safe(async () => {
        const { agent } = call;
        const spec = specOf(agent);
        const reads = classOf(agent, call.skill) === "read";
        const timeoutMs = call.timeoutMs ?? spec.timeout_ms;
        const remote = await remoteOf(agent);
        const given = (state: Link["state"], sent: number): Link => newLink({ key, run, agent, state, timeout: timeoutMs, sent });
        let link = linkOf(database, key);
        if (link?.state === "given_up") return { is: "given_up" };
        let task: RemoteTask | null = null;
        if (link === undefined || link.state === "sent" || link.state === "in_doubt") {
          // Declared otherwise, it may be another agent, or not have deduplicated the first task.
          const [begun, declared] = [`as ${key}`, `as ${key} ${canonicalJson(spec)}`];
          const harmless = reads || (spec.idempotent && (!kept.has(begun) || kept.has(declared)));
          let sent = link?.sent ?? 0;
          if (inDoubt && (!harmless || link?.state === "in_doubt")) task = await remote.find(uuidOf("context", key), abort);
          else {
            leaving?.();
            for (const one of [declared, begun]) kept.keep(one);
            keep(given("sent", ++sent));
            task = await give(remote, call, key, reads, harmless, inDoubt, abort);
          }
          if (task === null) {
            keep(given("in_doubt", sent));
            return { is: "unknown", sent };
          }
          if (task.id === "") return ended(task);
          link = keep({ ...given("working", sent), task: task.id, seal: sealOf({ key, agent, task: task.id }) });
        }
        const until = performance.now() + FOLLOW_MS;
        for (;;) {
          // Being unreachable now says nothing about its task.
          task ??= await remote.get(link.task, abort).catch((error: unknown) => {
            if (error instanceof ClearedError && error.code === "REMOTE_REFUSED") throw error;
            return null;
          });
          const { question = null, state = link.state } = task ?? {};
          if (task !== null && ENDED.includes(task.state)) {
            keep({ ...link, state: "ended" });
            return ended(task);
          }
          if (question !== null && question.id !== link.answered) {
            if (link.state !== "input-required") link = keep({ ...link, state: "input-required", at: clock.now() });
            return { is: "asks", id: question.id, text: redactor.text(question.text), data: redactor.json(question.data) };
          }
          if (state === "auth-required") {
            keep({ ...link, state, at: clock.now() });
            const said = forPeople(redactor.text(task?.text ?? ""));
            return {
              is: "waits",
              parked: true,
              title: `${agent} waits for somebody there who may approve${said === "" ? "" : `: ${said}`}`,
            };
          }
          if (link.state !== "working") link = keep({ ...link, state: "working", at: clock.now() });
          if (clock.now() - link.at >= timeoutMs) return giveUp(remote, link, timeoutMs, reads);
          if (performance.now() >= until || abort.aborted) return { is: "waits", parked: false, title: `${agent} works on it` };
          await remote.moved(link.task, Math.min(FOLLOW_MS, Math.max(50, link.at + timeoutMs - clock.now())), abort);
          task = null;
        }
      }),
    answer: ({ agent }, { key, question, values, abort }) =>
      safe(async () => {
        const link = linkOf(database, key);
        if (link === undefined) return;
        const { answer, ...rest } = values;
        const said = typeof answer === "string" && Object.keys(rest).length === 0 ? { text: answer } : { data: values };
        const remote = await remoteOf(agent);
        const message = { id: uuidOf(question, key), context: uuidOf("context", key), task: link.task, ...said };
        await remote.send(message, abort).catch(async (error: unknown) => {
          // An earlier answer may have arrived already.
          const now = await remote.get(link.task, abort).catch(() => null);
          if (now !== null && now.question?.id !== question) return;
          throw error instanceof ClearedError && error.code === "REMOTE_REFUSED" ? error : lost(agent, error, true);
        });
        keep({ ...link, state: "working", at: clock.now(), answered: question });
      }),
    giveUp: async (agent, key) => void keep(newLink({ key, run, agent, state: "given_up", timeout: 0, sent: 0 })),
  });

  return {
    forRun,
    /** Whether the task that this run waits for has progressed; asks at growing intervals. */
    async moved(run: string): Promise<boolean> {
      const link = linkAtWork(database, run);
      // Without a task there is nothing to wait for.
      if (link === undefined) return true;
      const { due, wait } = looks.get(link.key) ?? { due: 0, wait: FIRST_LOOK_MS / 2 };
      if (performance.now() < due) return false;
      looks.set(link.key, { due: performance.now() + 2 * wait, wait: Math.min(LONGEST_LOOK_MS / 2, wait * 1.5) });
      const task = await remoteOf(link.agent)
        .then((remote) => remote.get(link.task, AbortSignal.timeout(LOOK_PATIENCE_MS)))
        .catch((error: unknown) => (error instanceof ClearedError && error.code === "REMOTE_UNKNOWN" ? undefined : null));
      if (task === undefined) return true; // trust.yaml no longer names it: the run is told
      const late = link.state === "working" && clock.now() - link.at >= link.timeout;
      const moved = late || (task !== null && task.state !== link.state);
      if (moved) looks.delete(link.key);
      return moved;
    },
    /** Cancels remote tasks of runs that have ended, and forgets them. */
    async tidy(): Promise<void> {
      for (const link of linksLeft(database)) {
        looks.delete(link.key);
        // It may have ended long ago, which is just as good.
        if (!["ended", "given_up", "sent", "in_doubt"].includes(link.state) && isOurs(link))
          await remoteOf(link.agent)
            .then((remote) => remote.cancel(link.task, AbortSignal.timeout(LOOK_PATIENCE_MS)))
            .catch(() => null);
        dropLink(database, link.key);
      }
    },
  };
}

/** Equal for equal calls, in the form by which receivers recognize a repeated message (RFC 9562, version 8). */
function uuidOf(...parts: string[]): string {
  const hex = createHash("sha256").update(parts.join("\n")).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
