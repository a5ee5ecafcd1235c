/**
 * Recovers a failed reading tool (spec/worker.md 11 and 13): an unknown column is corrected once, a missing tool is answered by
 * an alias of trust.yaml, and `notes` lists what was done. An empty answer is an answer. Repeats belong to the engine.
 */
import { ClearedError, onCode } from "../../kernel/errors.ts";
import type { Call, Json, ToolInfo } from "../../kernel/ports.ts";
import { classify, type Declared, nameWords } from "./classify.ts";
import { columnsOf, matchColumn, replaceIdentifiers, schemaError, valueBeside } from "./drift.ts";
import { isUnanswered } from "./refusal.ts";
import { failureIn, isObject, propertiesOf, requiredOf } from "./shape.ts";

const SCHEMA_WORDS = new Set("schema column columns describe inspect metadata structure".split(" "));
const BUSY = /(?:^|\b(?:http|status|code|error)\b\W{0,3})429\b|rate.?limit|too many requests|temporar|unavailable|try again/i;

/** Whether the same read may be sent again: it did not arrive, or the tool calls the failure temporary. */
export function mayRepeat(error: unknown): boolean {
  if (!(error instanceof ClearedError)) return false;
  if (error.code === "TOOL_DOWN" || error.code === "TOOL_TIMEOUT") return true;
  return error.code === "TOOL_FAILED" && (BUSY.test(error.message) || isUnanswered(error.message));
}

/** Reading tools of a server that describe its columns. */
export const schemaTools = (listed: readonly ToolInfo[], server: string): ToolInfo[] =>
  listed.filter((one) => one.server === server && one.class === "read" && nameWords(one.name).some((word) => SCHEMA_WORDS.has(word)));

/** A server's section of trust.yaml; `aliases`: name of a tool -> names that replace it once it is gone. */
export type Aliased = Pick<Declared, "tools"> & { aliases: Readonly<Record<string, readonly string[]>> };

const serverOf = (tool: string): string => tool.slice(0, tool.indexOf("/"));

/** The tool that replaces one that is not offered: declared in trust.yaml, both of them reading. A writing tool is never replaced. */
export function standIn(tool: string, listed: readonly ToolInfo[], { aliases, tools }: Aliased): ToolInfo | undefined {
  const name = tool.slice(tool.indexOf("/") + 1);
  const names = Object.hasOwn(aliases, name) ? (aliases[name] ?? []) : [];
  const declared = Object.hasOwn(tools, name) ? tools[name]?.class : undefined;
  if (classify(name, { declared, trusted: false }).class === "mutate") return undefined;
  return listed.find((one) => one.server === serverOf(tool) && one.class === "read" && names.includes(one.name));
}

/**
 * One read with its repairs. `listed`: the tools on offer; nothing else is called. `spec`: the server's section of trust.yaml. `read` makes
 * one call and throws TOOL_*; its error is passed on when no repair helps.
 */
export async function recoveredRead(options: {
  call: Call;
  listed: readonly ToolInfo[];
  spec: Aliased;
  read(call: Call): Promise<Json>;
}): Promise<{ answer: Json; notes: string[] }> {
  const { call, listed, spec, read } = options;
  const known = listed.find((one) => one.tool === call.tool);
  if (known?.class === "mutate") throw new ClearedError("INTERNAL", `${call.tool} writes, and was called to read.`);
  if (known === undefined) {
    const other = standIn(call.tool, listed, spec);
    // No replacement: `read` reports the tool as unknown.
    if (other === undefined) return { answer: await read(call), notes: [] };
    return {
      answer: await read({ tool: other.tool, params: call.params }),
      notes: [`${call.tool} is not offered; via its alias ${other.tool}`],
    };
  }
  const first = await attempt(() => read(call));
  const failure = first.error === null ? failureIn(first.answer) : first.error.message;
  const bad = failure === null ? [] : schemaError(failure, first.error?.data as Json | undefined);
  if (bad.length === 0) return outcome(first, []);
  const columns = await columnsFor(call, schemaTools(listed, serverOf(call.tool)), read);
  let params = call.params;
  const notes: string[] = [];
  for (const column of bad) {
    const found = matchColumn(column, [...columns.keys()], { value: valueBeside(params, column), types: columns });
    if (found.match === null) {
      const could =
        found.candidates.length > 0 ? `could be ${found.candidates.join(" or ")}` : `has ${[...columns.keys()].slice(0, 30).join(", ")}`;
      return outcome(first, [
        `schema_drift: ${call.tool} has no column "${column}".${columns.size === 0 ? "" : ` It ${could}: correct the script.`}`,
      ]);
    }
    params = replaceIdentifiers(params, column, found.match);
    notes.push(`schema_drift: ${call.tool} calls "${column}" now "${found.match}"; correct the script.`);
  }
  const second = await attempt(() => read({ tool: call.tool, params }));
  return second.error === null && failureIn(second.answer) === null ? { answer: second.answer, notes } : outcome(first, []);
}

type Attempt = { answer: Json; error: null } | { answer: null; error: ClearedError };

const attempt = (read: () => Promise<Json>): Promise<Attempt> =>
  read().then(
    (answer) => ({ answer, error: null }),
    onCode("TOOL_FAILED", (error) => ({ answer: null, error })),
  );

/** The first failure unchanged, with notes about it. @throws TOOL_FAILED */
function outcome({ answer, error }: Attempt, notes: string[]): { answer: Json; notes: string[] } {
  if (error === null) return { answer, notes };
  throw notes.length === 0
    ? error
    : new ClearedError(error.code, `${error.message} (${notes.join("; ")})`, { data: error.data, cause: error });
}

/** Columns by the first schema tool whose required parameters the call itself has (its table, its resource). */
async function columnsFor(call: Call, tools: readonly ToolInfo[], read: (call: Call) => Promise<Json>): Promise<Map<string, string>> {
  const given = isObject(call.params) ? call.params : {};
  for (const tool of tools) {
    if (!requiredOf(tool.input_schema).every((name) => Object.hasOwn(given, name))) continue;
    const known = propertiesOf(tool.input_schema);
    const params = Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(known, name)));
    const reply = await attempt(() => read({ tool: tool.tool, params }));
    const columns = reply.error === null ? columnsOf(reply.answer) : new Map<string, string>();
    if (columns.size > 0) return columns;
  }
  return new Map();
}
