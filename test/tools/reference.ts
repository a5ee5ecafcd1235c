/** How the vectors of the tool modules reach ours: each of their functions by what stands for it here. */
import { data_dedupe, data_group_by, data_sum } from "../../primitives/data.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Call, Json, ToolInfo } from "../../runtime/kernel/ports.ts";
import { callPrimitive, type Primitive } from "../../runtime/kernel/primitive.ts";
import { classify } from "../../runtime/rules/tools/classify.ts";
import { matchColumn, replaceIdentifiers, schemaError, similarity } from "../../runtime/rules/tools/drift.ts";
import { fetchAll, recordsOf } from "../../runtime/rules/tools/pages.ts";
import { recoveredRead, schemaTools } from "../../runtime/rules/tools/recover.ts";
import { keyParams, nounOf, type VerifyDeclaration, verifiedWrite, verifySpec } from "../../runtime/rules/tools/verify.ts";
import { memory } from "../primitives/memory-ports.ts";

/** A listed tool of the server "s", classed by its name. */
export function tool(name: string, schema: Json = {}): ToolInfo {
  return { tool: `s/${name}`, server: "s", name, description: "", input_schema: schema, ...classify(name, { trusted: false }) };
}

type Args = Record<string, Json>;
const compute = (primitive: Primitive, params: Json): Promise<Json> => callPrimitive(primitive, params, memory().ctx);
const isMutate = (name: string): boolean => classify(name, { trusted: false }).class === "mutate";

/** Not here: is_approval_tool, find_approval_tool, infer_alt_reads, result_is_empty_due_to_drift (test/vectors/README.md says why). */
export const REFERENCE: Record<string, (args: Args) => Json | Promise<Json>> = {
  classify_tool: ({ name }) => classify(String(name), { trusted: false }).class,
  get_mutate_tools: ({ names }) => (names as string[]).filter(isMutate),
  "check_approval_gate#fires": ({ state, names }) => state === "APPROVAL_GATE" && (names as string[]).some(isMutate),
  is_write_tool: ({ name }) => isMutate(String(name)),
  extract_entity_noun: ({ name }) => nounOf(String(name)),
  extract_key_params: ({ params }) => keyParams(params as Args),
  trace,
  detect_schema_error: ({ error_text }) => schemaError(String(error_text))[0] ?? null,
  fuzzy_match_column: ({ bad_col, candidates }) => matchColumn(String(bad_col), candidates as string[]).match,
  sequence_ratio: ({ a, b }) => similarity(String(a), String(b)),
  replace_in_params: ({ params, bad, good }) => replaceIdentifiers(params ?? null, String(bad), String(good)),
  find_schema_tools: ({ available }) =>
    schemaTools(
      (available as string[]).map((name) => tool(name)),
      "s",
    ).map(({ name }) => name),
  resilient_tool_call: resilient,
  paginated_fetch: paginated,
  extract_records: ({ result, result_key }) => recordsOf(result ?? null, typeof result_key === "string" ? result_key : undefined),
  "group_by#keys": async ({ records, key }) => {
    const groups = (await compute(data_group_by, { records: records ?? null, by: key ?? null })) as { key: string; count: number }[];
    return Object.fromEntries(groups.map((group) => [group.key, group.count]));
  },
  sum_field: async ({ records, field }) => {
    const { sum } = (await compute(data_sum, { records: records ?? null, field: field ?? null })) as { sum: string };
    return Number(sum);
  },
  deduplicate: async ({ records, key }) => {
    const { records: kept } = (await compute(data_dedupe, { records: records ?? null, key: key ?? null })) as { records: Json };
    return kept;
  },
};

async function trace({ calls, responses, write_read_map }: Args): Promise<Json> {
  const answers = responses as Args;
  const listed = Object.keys(answers).map((name) => tool(name));
  const made: string[] = [];
  const answer = (name: string): Json => answers[name] ?? { error: `unknown tool ${name}` };
  const statuses: string[] = [];
  for (const [name, params] of calls as [string, Json][]) {
    const read = (write_read_map as Record<string, string> | null)?.[name];
    const declared: VerifyDeclaration | undefined = read === undefined ? undefined : { read };
    if (!isMutate(name)) made.push(name);
    else {
      let written = false;
      const { write } = await verifiedWrite({
        call: { tool: `s/${name}`, params },
        spec: verifySpec(tool(name), declared, listed),
        read: async (call) => {
          // The vectors know no look at the record before the write.
          if (written) made.push(call.tool.slice(2));
          return answer(call.tool.slice(2));
        },
        write: async () => {
          written = true;
          made.push(name);
          return answer(name);
        },
      });
      statuses.push(write.status);
    }
  }
  const verified = statuses.filter((status) => status === "VERIFIED").length;
  return { statuses, calls: made, writes: statuses.length, verified };
}

async function resilient({ tool: name, params, script, available }: Args): Promise<Json> {
  const replies = script as Record<string, Json[]>;
  const offered = (available as string[] | null) ?? Object.keys(replies);
  const calls: string[] = [];
  let last: Json = {};
  const read = async (call: Call): Promise<Json> => {
    const one = call.tool.slice(2);
    const nth = calls.filter((made) => made === one).length;
    calls.push(one);
    last = call.params;
    const list = replies[one] ?? [{ error: "unknown tool" }];
    return list[Math.min(nth, list.length - 1)] ?? null;
  };
  const { answer } = await recoveredRead({
    call: { tool: `s/${name}`, params: params ?? {} },
    listed: offered.map((one) => tool(one)),
    spec: { tools: {}, aliases: {} },
    read,
  });
  return { result: answer, calls, last_params: last };
}

async function paginated({ responses, base_params, max_pages, result_key }: Args): Promise<Json> {
  const replies = responses as Json[];
  let calls = 0;
  // A server that keeps to the size it is asked for, pages from 1 on and takes a cursor.
  const schema = { properties: { limit: { maximum: 100 }, page: { default: 1 }, cursor: {} } };
  const { records, complete, reason } = await fetchAll(
    { tool: "s/list_things", params: base_params ?? {} },
    {
      schema,
      maxPages: Number(max_pages),
      ...(typeof result_key === "string" ? { resultKey: result_key } : {}),
      step: async () => replies[calls++] ?? [],
    },
  );
  return { ids: records.map((one) => (one as Args)["id"] ?? null), calls, complete, reason };
}

/** What ours answers, or the code it refuses with. */
export async function ours(name: string, args: Args): Promise<Json> {
  try {
    return (await REFERENCE[name]?.(args)) ?? null;
  } catch (error) {
    if (error instanceof ClearedError) return { refused: error.code };
    throw error;
  }
}
