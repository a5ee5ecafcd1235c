/** `cleared approve`, `reject`, `answer` and `correct`: sign as the person whose key this shell has, send, print the result. */
import { isOurs } from "../../engine/attempt.ts";
import { assertNamed } from "../../engine/store/cards.ts";
import { ClearedError, EXIT, type WireError, kindOf, toWire } from "../../kernel/errors.ts";
import type { Card, Decision, Json } from "../../kernel/ports.ts";
import type { Proposal, Report } from "../../change/proposal-types.ts";
import type { Api } from "../../app/api.ts";
import { withApi } from "../../app/connect.ts";
import { type Decided, asked, agreed } from "../../app/decide.ts";
import { signAs } from "../../app/identity.ts";
import { assertConfirmed, readLocal } from "../../app/local.ts";
import { withStore } from "../../app/look.ts";
import type { Invocation, Command, Options } from "../invocation.ts";
import { type Output, formatError } from "../output.ts";
import { cardLines, cardNumber, exitOf, parseJson, runLine, textsOf } from "../text.ts";
import { summaryOf } from "../../web/story.ts";

/** `answer`: the decision for a card, besides what the options say. @throws USAGE, RUN_INPUT */
async function decideAll(
  at: Invocation,
  cards: string[],
  answer: (card: Card) => Pick<Decision, "decision" | "calls" | "result">,
  options: Options,
): Promise<number> {
  const { output, dir } = at;
  const local = readLocal(dir);
  assertConfirmed(local);
  for (const name of cards) cardNumber(name);
  const extra = {
    ...textsOf(options, "reason", "despite", "account"),
    ...(options["result"] === undefined ? {} : { result: parseJson(String(options["result"]), "--result") as Json }),
  };
  const decided = new Set<string>();
  let sent: Decision | null = null;
  /** Exit code of the first run that failed or was blocked with its decision. */
  let ended: number | null = null;
  const decide = async (api: Api, name: string) => {
    const id = cardNumber(name);
    const card = await withStore(dir, (look) => look.card(id));
    if (card === null) throw new ClearedError("CARD_UNKNOWN", `There is no card ${id}. \`cleared queue\` lists the open ones.`);
    const again = sent?.card === id ? sent : null;
    const taken = again !== null && card.decision?.at === again.at && card.decision.by.split(", ").includes(again.by);
    if (taken) {
      if (!decided.has(name)) output.lines(cardLines(output, card));
      decided.add(name);
      return { card };
    }
    const said = { ...asked(card), ...answer(card), at: Date.now(), ...extra };
    const decision = again ?? signAs(dir, local.trust, said, options["by"] as string | undefined);
    assertNamed(card, name, decision.by);
    sent = decision;
    const one = await api.decide({ decision });
    decided.add(name);
    const movable = one.card.kind === "proposal" && one.commit !== null ? movableOf((await api.proposal({ id })).proposal.report) : [];
    const proposed = one.proposal === null ? [] : proposedLines(one.card, (await api.proposal({ id: one.proposal })).proposal);
    tell(output, { ...one, movable, proposed });
    if (one.run === null || one.card.gate === null) return { ...one, movable };
    // The run continues at once; the person sees how far it gets.
    const run = await api.status({ run: one.run.id, wait: true });
    output.line(`      ${runLine(output, run).join("  ").trimEnd()}`);
    if (run.outcome !== "rejected" && run.status !== "canceled" && exitOf(run) !== 0) {
      ended ??= exitOf(run);
      output.note(run.error === null ? summaryOf(run) : formatError(run.error, dir));
    }
    return { ...one, run, movable };
  };
  // Each result is printed as it happens, and a failure does not stop the others.
  const results: (Awaited<ReturnType<typeof decide>> | { card: number; error: WireError })[] = [];
  const failures: unknown[] = [];
  const failed = (name: string, error: unknown) => {
    failures.push(error);
    results.push({ card: cardNumber(name), error: toWire(error) });
    output.note(`${name}  ${formatError(toWire(error), dir)}`);
  };
  const left = [...cards];
  let lost = "";
  const decideLeft = async (api: Api) => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      try {
        results.push(await decide(api, name));
      } catch (error) {
        const ended = ownerEnded(error);
        // The next owner, or this process as the owner, goes on; a card at which two have ended is left.
        if (ended === true && lost !== name) {
          lost = name;
          left.unshift(name);
          return;
        }
        const told = ended === undefined ? error : inDoubt(name);
        if (cards.length === 1) throw told;
        failed(name, told);
        if (ended === true) return;
        // The disk is full or the owner was replaced, so the others would fail as well.
        if (isOurs(error)) left.length = 0;
      }
    }
  };
  do {
    await withApi(dir, decideLeft).catch((error: unknown) => {
      const [name] = left;
      if (lost === "" || name === undefined) throw error;
      if (cards.length === 1) throw inDoubt(name);
      failed(name, name === lost ? inDoubt(name) : error);
      left.length = 0;
    });
  } while (left.length > 0);
  output.result(results);
  if (failures.length > 0) output.line(`${decided.size} of ${cards.length} decided.`);
  return failures.length === 0 ? (ended ?? 0) : EXIT[kindOf(toWire(failures[0]).code)];
}

/** Whether the owner has ended (true) or no longer responds (false); undefined for any other error. */
function ownerEnded(error: unknown): boolean | undefined {
  const { code, data } = toWire(error);
  return code === "OWNER_BUSY" ? (data?.["ended"] as boolean | undefined) : undefined;
}

const inDoubt = (name: string) =>
  new ClearedError(
    "OWNER_BUSY",
    `The process that owns this workspace ended or stopped responding while it decided card ${name}. \`cleared queue show ${name}\` shows whether it is decided; if it is open, decide it again.`,
  );

function tell(output: Output, one: Decided & { offer: Card | null } & { movable: ReturnType<typeof movableOf>; proposed: string[] }): void {
  output.lines(cardLines(output, one.card));
  if (one.still !== null) output.line(`      counted; still needs ${one.still}`);
  if (one.commit !== null) output.line(`      commit ${one.commit.slice(0, 7)}`);
  for (const { agent, runs } of one.movable)
    output.line(`      ${runs} waiting ${runs === 1 ? "run" : "runs"} could move: \`cleared runs migrate --agent ${agent}\``);
  output.lines(one.proposed);
  if (one.noRule !== null) output.line(`      no rule is proposed: ${one.noRule}`);
  if (one.case !== null) output.line(`      case ${one.case}`);
  if (one.noCase !== null) output.line(`      no case was made of it: ${one.noCase}`);
  if (one.offer !== null) output.lines(cardLines(output, one.offer));
  else if (one.commit !== null && one.card.decision?.account !== undefined)
    output.line(output.dim(`      \`cleared rule ${String((one.card.body as { entry?: string }).entry)}\` makes a rule of it`));
}

/** What becomes of an answer that is proposed as a change of a file. */
function proposedLines({ kind }: Card, { number, state, why }: Proposal): string[] {
  const file = kind === "rule" ? "the script" : "config.yaml";
  if (state !== "blocked") return [`      proposal ${number} adds this to ${file}; \`cleared approve ${number}\` applies it`];
  const again = kind === "account" ? ", and its card asks again" : "";
  return [
    `      proposal ${number} would add this to ${file}, and is blocked: ${why}`,
    `      \`cleared proposals withdraw ${number}\` takes the answer back${again}`,
  ];
}

/** Waiting runs that, by the report, could continue with the approved code; they stay on theirs until somebody moves them. */
function movableOf(report: Report | null): { agent: string; runs: number }[] {
  return (report?.backtests ?? [])
    .map(({ agent, waiting }) => ({ agent, runs: waiting.filter((one) => one.moves).length }))
    .filter(({ runs }) => runs > 0);
}

/** `path=value` of --set, --input and of answers. @throws USAGE */
export function pairsOf(texts: readonly string[]): Record<string, string> {
  const pairs = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf("=");
    if (at < 1) throw new ClearedError("USAGE", `"${text}" sets nothing; write name=value.`);
    const name = text.slice(0, at);
    if (pairs.has(name)) throw new ClearedError("USAGE", `${name} is set twice; write it once.`);
    pairs.set(name, text.slice(at + 1));
  }
  return Object.fromEntries(pairs);
}

/** Approves cards; with --set after changing parameters of the calls. */
export const approve: Command = (at, cards, options) => {
  const sets = pairsOf((options["set"] ?? []) as string[]);
  return decideAll(at, cards, (card) => agreed(card, sets), options);
};

export const reject: Command = (at, cards, options) => decideAll(at, cards, () => ({ decision: "rejected" }), options);

/** Fills in a form. */
export const answer: Command = (at, [card = "", ...values], options) => {
  const pairs = pairsOf(values);
  const filled = (form: Card) => {
    if (form.kind === "form") return agreed(form, pairs);
    throw new ClearedError("USAGE", `Card ${form.id} asks for a decision, not for values: approve or reject it.`);
  };
  return decideAll(at, [card], filled, options);
};

/** Moves a confirmed entry to another account. */
export const correct: Command = async (at, [entry = ""], options) => {
  if (options["account"] === undefined)
    throw new ClearedError("USAGE", `Say on which account it belongs: \`cleared correct ${entry} --account NUMBER\`.`);
  const card = await withApi(at.dir, (api) => api.correction({ entry, account: String(options["account"]) }));
  return decideAll(at, [card.name], () => ({ decision: "approved" }), options);
};
