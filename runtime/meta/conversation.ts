/**
 * One request, from its text to exactly one end: the model is asked and its calls are made, until a call ends it, or a limit of time, money or
 * length does. Every message is durable before the next step, and the state of a conversation follows from its messages alone: an interrupted
 * one continues with the first call that has no result.
 */
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Clock, Json, Llm, LlmMessage, LlmPart } from "../kernel/ports.ts";
import { jsonOf, oneLine } from "../kernel/text.ts";
import { declined } from "./ends.ts";
import { type Ask, type AskEnd, type AskRow, type Result, callsIn, callsMade } from "./requests.ts";
import { asksForSecret } from "./telling.ts";
import { callTool, toolList } from "./tools.ts";
import type { Situation, Workshop } from "./workshop.ts";

const TURNS = 60;
const MAX_TOKENS = 12_000;
// More characters than any answer within its token limit.
const LONGEST_ANSWER = 400_000;
// Three files of maximum size; a tool's schema or a run's result may have any length, and is sent with each request.
const LONGEST_RESULT = 200_000;
const IDLE = "Make a call: read and write on, or end with submit, answer, ask_user or decline.";
const CUT = "Your answer was cut off at the limit of tokens, so none of its calls was made. Do less at once.";

export interface Talk {
  llm: Llm;
  shop: Workshop;
  clock: Clock;
  system: string;
  /** Replaces the prompt if the model says that it is too long. */
  short: string;
  /** Aborted when somebody stops the request. */
  stop: AbortSignal;
  /** Time limit until the request ends or asks. */
  wallMs: number;
}

/** Continues a request to its end, which the caller records. Throws only for an internal error. */
export async function converse(ask: Ask, talk: Talk): Promise<AskEnd> {
  const { shop, stop } = talk;
  const limit = AbortSignal.timeout(talk.wallMs);
  const abort = AbortSignal.any([stop, limit]);
  let at: Situation | null = null;
  const over = (reason: string): AskEnd =>
    declined(reason, { findings: at?.refused.at(-1)?.slice(0, 10) ?? [], files: [...(at?.files.keys() ?? [])], open: true });
  try {
    at = await situationOf(ask, await talk.llm.modelOf({ role: "large" }), shop);
    for (;;) {
      const rows = shop.asks.rows(ask.id);
      at.messages = rows.flatMap(({ message }) => message ?? []);
      const last = rows.findLast(({ message }) => message !== undefined);
      abort.throwIfAborted();
      const end =
        last?.message?.role === "assistant" ? await answerTo(last, last.message, at, talk, abort) : await nextTurn(at, talk, abort);
      if (end !== null) return end;
    }
  } catch (error) {
    if (stop.aborted) return over("It was stopped.");
    if (limit.aborted)
      return over(
        `It took longer than ${Math.round(talk.wallMs / 1000)} seconds, which is all the time a request has: models.budgets.proposal.minutes in config.yaml.`,
      );
    if (error instanceof ClearedError && error.code.startsWith("LLM_")) return over(toWire(error).message);
    throw error;
  }
}

/** Asks the model; null if the conversation continues. */
async function nextTurn({ ask, messages }: Situation, talk: Talk, abort: AbortSignal): Promise<AskEnd | null> {
  const { llm, shop, clock, system, short } = talk;
  const answers = messages.filter(({ role }) => role === "assistant");
  if (answers.length >= TURNS) return declined(`It came to no end in ${TURNS} turns.`, { open: false });
  if (answers.slice(-2).length === 2 && answers.slice(-2).every((one) => callsIn(one).length === 0))
    return declined("The model stopped without a proposal, an answer, a question or a reason.");
  const got = await llm.generate({
    ...{ role: "large", system, messages: [...messages], tools: toolList(shop.arm), must_call: true, max_tokens: MAX_TOKENS, abort },
    spender: { proposal: spenderOf(ask.id) },
  });
  const { content, stop, model, cost } = got;
  if (stop === "context_exceeded" && system !== short) {
    talk.system = short;
    return null;
  }
  if (JSON.stringify(content).length > LONGEST_ANSWER) return declined(`${model} answered with more than ${LONGEST_ANSWER} characters.`);
  const said: LlmPart[] = content.length > 0 ? content : [{ type: "text", text: "(nothing)" }];
  shop.asks.add(ask.id, {
    at: clock.now(),
    message: { role: "assistant", content: said },
    model,
    cost,
    ...(stop === "max_tokens" ? { cut: true } : {}),
  });
  if (stop === "refusal") return declined(`${model} refuses this request.`);
  if (stop === "context_exceeded") return declined(`The request does not fit into what ${model} can read at once.`);
  return null;
}

/** Makes the calls of an answer; a call that ends the request comes last, and only the first such call counts. */
async function answerTo(
  row: AskRow,
  message: LlmMessage,
  at: Situation,
  { shop, clock }: Talk,
  abort: AbortSignal,
): Promise<AskEnd | null> {
  const { ask } = at;
  const calls = callsIn(message);
  const reply = (content: LlmMessage["content"]) => shop.asks.add(ask.id, { at: clock.now(), message: { role: "user", content } });
  if (calls.length === 0) {
    reply(row.cut === true ? CUT : IDLE);
    return null;
  }
  const results: Result[] = [];
  let end: AskEnd | null = null;
  for (const call of calls) {
    if (row.cut === true || end !== null) {
      const why = end === null ? CUT : "The request has ended before this call.";
      results.push({ type: "tool_result", id: call.id, text: why, failed: true });
      continue;
    }
    abort.throwIfAborted();
    const work = callTool(call.tool, call.params, at, shop);
    // A submission is completed once started, so that no proposal is left unreported.
    const made = await (call.tool === "submit" ? work : orAborted(work, abort));
    // A model chooses the names and words it searches for.
    shop.asks.add(ask.id, { at: clock.now(), note: asksForSecret(made.note, true) ? "makes a call" : oneLine(made.note, 300) });
    const all = JSON.stringify(made.result);
    const isLong = all.length > LONGEST_RESULT;
    const text = isLong ? `The result has ${all.length} characters, and at most ${LONGEST_RESULT} are told: ask for less of it.` : all;
    results.push({ type: "tool_result", id: call.id, text, ...(made.failed === true || isLong ? { failed: true } : {}) });
    end = made.end ?? null;
  }
  // The answer to a question becomes its result when it arrives.
  if (end?.kind !== "question") reply(results);
  return end;
}

async function orAborted<T>(work: Promise<T>, abort: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(abort.reason as Error);
  abort.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    abort.removeEventListener("abort", stop);
  }
}

/** The spender for the costs of a request. */
export const spenderOf = (ask: number): string => `request ${ask}`;

/** The draft and the returned submissions, from the messages. */
async function situationOf(ask: Ask, model: string, { asks, base }: Workshop): Promise<Situation> {
  const messages = asks.rows(ask.id).flatMap(({ message }) => message ?? []);
  const files = new Map<string, string | null>();
  const refused: string[][] = [];
  for (const { call, result } of callsMade(messages)) {
    const { path, text } = (call.params ?? {}) as { path?: Json; text?: Json };
    if (result.failed === true && (call.tool === "submit" || call.tool === "answer")) refused.push(findingsIn(result.text));
    if (result.failed === true) continue;
    if (call.tool === "write") files.set(String(path), String(text));
    else if (call.tool === "remove" && (await base.blob(String(path))) === null) files.delete(String(path));
    else if (call.tool === "remove") files.set(String(path), null);
  }
  return { ask, model, files, tried: new Map(), refused: refused.filter((one) => one.length > 0), messages };
}

const findingsIn = (text: string): string[] => (jsonOf(text) as { findings?: string[] } | null | undefined)?.findings ?? [];

/** The message that continues a request: the answer to its question, as the result of the call that asked. */
export function answered(rows: readonly AskRow[], answer: string): LlmMessage | null {
  const last = rows.flatMap(({ message }) => message ?? []).at(-1);
  const calls = last?.role === "assistant" ? callsIn(last) : [];
  if (!calls.some(({ tool }) => tool === "ask_user")) return null;
  const told = (tool: string) =>
    tool === "ask_user" ? JSON.stringify({ the_user_says: answer }) : "This call was not made: the question came first.";
  return {
    role: "user",
    content: calls.map(
      ({ id, tool }): Result => ({ type: "tool_result", id, text: told(tool), ...(tool === "ask_user" ? {} : { failed: true }) }),
    ),
  };
}
