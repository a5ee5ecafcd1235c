/** `cleared ask` and `cleared asks`: a request to the meta-agent, shown as it progresses; earlier requests and their results. */
import { NOBODY, oneLine } from "../../kernel/text.ts";
import { ClearedError, EXIT } from "../../kernel/errors.ts";
import type { Api } from "../../app/api.ts";
import type { Ask, AskEnd, AskRow, WatchedAsk } from "../../app/asks.ts";
import { withApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import { askedAfter } from "../../meta/requests.ts";
import type { Command } from "../invocation.ts";
import type { Output } from "../output.ts";
import { proposalLines } from "../proposal-lines.ts";
import { answerTo } from "../terminal.ts";
import { cardLines, toCount, when } from "../text.ts";

const SAID = 2000;

export const run: Command = async ({ output, dir }, words, options) => {
  const said = words.join(" ");
  const by = starterHere(dir);
  return withApi(dir, async (api) => {
    if (options["showPrompt"] === true) {
      const prompt = await api.askPrompt();
      output.result(prompt);
      output.text(`${prompt.system}\n\nversion ${prompt.version}, ${prompt.system.length} characters`);
      return 0;
    }
    const again = options["continue"];
    const number = typeof again === "string" && /^\d{1,9}$/.test(again) ? Number(again) : undefined;
    const answer = [...(typeof again === "string" && number === undefined ? [again] : []), said].filter(Boolean).join(" ");
    const begun =
      again === undefined
        ? await api.ask({ text: said, ...by })
        : await api.continueAsk({ ...(number === undefined ? {} : { id: number }), answer, ...by });
    return tell(output, api, await follow(output, api, begun, by));
  });
};

/** `cleared rule`: the card that offers it, the proposal that has it, or the request that looks for it. */
export const rule: Command = async ({ output, dir }, [entry = ""]) => {
  const starter = starterHere(dir);
  return withApi(dir, async (api) => {
    const made = await api.rule({ entry, ...starter });
    if ("ask" in made) return tell(output, api, await follow(output, api, made.ask, starter));
    output.result(made);
    if (made.card.kind === "proposal") output.line(`proposal ${made.card.id} has this rule`);
    output.lines(cardLines(output, made.card));
    return 0;
  });
};

/** Shows progress until the request ends; Ctrl-C stops it, and a question is asked here if somebody can answer. */
async function follow(output: Output, api: Api, ask: Ask, starter: { by?: string }): Promise<WatchedAsk> {
  let from = 1;
  const stop = () => {
    output.note("Stopping; Ctrl-C again leaves at once.");
    void api.stopAsk({ id: ask.id }).catch(() => undefined);
  };
  output.line(output.dim(`request ${ask.id}`));
  process.once("SIGINT", stop);
  try {
    for (;;) {
      const watched = await api.watchAsk({ id: ask.id, from, wait: true });
      for (const row of watched.rows) {
        from = row.n + 1;
        if (row.note !== undefined) output.line(`  ${row.note}`);
      }
      const { end } = watched.ask;
      if (end === null) continue;
      const answer = end.kind === "question" && !output.json ? await answerHere(output, end) : null;
      if (answer === null) return watched;
      await api.continueAsk({ id: ask.id, answer, ...starter });
    }
  } finally {
    process.off("SIGINT", stop);
  }
}

type Question = Extract<AskEnd, { kind: "question" }>;

const questionLines = (output: Output, { question, options, outside = [] }: Question): string[] => [
  output.bold(question),
  ...options.map((one, i) => `  ${i + 1}  ${one}`),
  ...(outside.length === 0 ? [] : [output.yellow(`  ${askedAfter(outside)}`)]),
];

/** Null if nobody answers: the question stays open. */
async function answerHere(output: Output, end: Question): Promise<string | null> {
  if (process.stdin.isTTY !== true) return null;
  output.lines(questionLines(output, end));
  const said = (await answerTo("> ")) ?? "";
  return /^[1-9]$/.test(said) ? (end.options[Number(said) - 1] ?? said) : said === "" ? null : said;
}

/** The end, and the exit code. */
async function tell(output: Output, api: Api, { ask, cost }: WatchedAsk): Promise<number> {
  const { end } = ask;
  const shown = end?.kind === "card" ? await api.proposal({ id: end.proposal }) : null;
  output.result({ ...ask, cost, ...(shown === null ? {} : { proposal: shown.proposal }) });
  output.lines(shown === null ? endLines(output, ask) : proposalLines(output, shown));
  if (cost !== null) output.line(output.dim(`  cost: ${cost}`));
  return end?.kind === "decline" ? EXIT.policy : shown?.proposal.state === "blocked" ? 1 : 0;
}

function endLines(output: Output, { id, end }: Ask): string[] {
  if (end === null) return ["It is being worked on."];
  if (end.kind === "card") return [`proposal ${end.number}: ${end.title}`];
  if (end.kind === "question") return [...questionLines(output, end), output.dim(`  answer: cleared ask --continue ${id} "ANSWER"`)];
  if (end.kind === "decline")
    return [
      output.yellow(end.reason),
      ...end.findings.map((one) => `  ${oneLine(one, 400)}`),
      ...(end.open ? [output.dim(`  continue: cleared ask --continue ${id}`)] : []),
    ];
  return [
    ...end.text.split("\n").map((line) => output.bold(line)),
    ...end.figures.flatMap(({ label, value, source, entries, proof }) => [
      `  ${label}: ${value}  (${proof ?? (entries.length > 0 ? `computed by ${source} from ${entries.length} entries, not their sum` : `computed by ${source}`)})`,
      ...entries.map((one) => output.dim(`    ${one.id}  ${one.date}  ${one.amount}  ${one.description}`)),
    ]),
  ];
}

export const asks: Command = async ({ output, dir }, [verb, number = ""], options) => {
  const id = Number(number);
  if (verb === "show" && !/^\d{1,9}$/.test(number))
    throw new ClearedError("USAGE", "Name a request by its number: `cleared asks show 4`; `cleared asks` lists them.");
  return withApi(dir, async (api) => {
    if (verb === "show") {
      const watched = await api.watchAsk({ id, from: 1, wait: false });
      output.result(watched);
      output.lines(historyLines(output, watched));
      return 0;
    }
    const all = await api.asks({ limit: toCount(options["limit"] ?? "20", "--limit") });
    output.result(all);
    output.rows(all.map((one) => rowOf(output, one)));
    if (all.length === 0) output.line('No requests yet. `cleared ask "..."` makes one.');
    return 0;
  });
};

function rowOf(output: Output, { id, at, text, end, cost }: Ask & { cost: string | null }): string[] {
  const state = end === null ? "working" : end.kind === "card" ? `proposal ${end.number}` : end.kind;
  return [output.bold(String(id)), when(at), state, cost ?? "", oneLine(text, 100)];
}

function historyLines(output: Output, { ask, rows, cost }: WatchedAsk): string[] {
  const { id, at, by, text, base, prompt } = ask;
  return [
    `${output.bold(String(id))}  ${oneLine(text, 500)}`,
    output.dim(`  asked ${when(at)} by ${by ?? NOBODY}, on commit ${base.slice(0, 7)}, prompt ${prompt}`),
    ...rows.flatMap((row) => rowLines(output, row)),
    ...endLines(output, ask),
    ...(cost === null ? [] : [output.dim(`  cost: ${cost}`)]),
  ];
}

function rowLines(output: Output, { note, message, model, cost }: AskRow): string[] {
  if (message === undefined) return note === undefined ? [] : [`    ${note}`];
  if (message.role === "user") return note === undefined ? [] : [`  ${note}`];
  const parts = typeof message.content === "string" ? [{ type: "text" as const, text: message.content }] : message.content;
  return [
    `  ${output.bold(model ?? "the model")}${cost == null ? "" : output.dim(`  ${cost} USD`)}`,
    ...parts.flatMap((part) => {
      if (part.type === "text") return part.text.trim() === "" ? [] : [`    says: ${oneLine(part.text, SAID)}`];
      return part.type === "tool_call" ? [`    ${part.tool} ${oneLine(JSON.stringify(part.params), 300)}`] : [];
    }),
  ];
}
