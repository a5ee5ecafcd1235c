/** The tools of the MCP server: one for each offered agent, and the general ones; their descriptions, and what a call does. */
import { z } from "zod";
import type { McpApi } from "../app/mcp-api.ts";
import { type Caller, LOCAL } from "../app/callers.ts";
import { ClearedError } from "../kernel/errors.ts";
import { AMOUNT_PATTERN } from "../kernel/money.ts";
import type { Json } from "../kernel/ports.ts";
import type { InputField } from "../scripts/fields.ts";

export type Fields = { [key: string]: Json };
type Agent = Awaited<ReturnType<McpApi["agents"]>>[number];

// Clients give up a call after 60 seconds by default; a person waiting in a chat does so earlier.
const PATIENCE_MS = 20_000;
const RUNS = 20;
const KEY = "idempotency_key";
const TOLD = { type: "object", properties: { run: { type: ["string", "null"] }, status: { type: "string" } }, required: ["run", "status"] };
const BAD = ["failed", "diverged", "canceled", "refused"];

interface Own<P> extends Record<"name" | "title" | "about", string> {
  params: z.ZodType<P>;
  readOnly: boolean;
  /** Only for the user's own programs, not for tokens. */
  local: boolean;
  call(api: McpApi, caller: Caller, params: P): Promise<unknown>;
}

const run = z.string().max(80).describe("the run's id, such as run_1M8281TGA2S4EZ");
const own = <P>(spec: Own<P>): Own<unknown> => spec as Own<unknown>;

const OWN: readonly Own<unknown>[] = [
  own({
    ...{ name: "run_status", title: "How a run stands", readOnly: true, local: false },
    about: "How a run stands, and its answer once it has ended; without `run` the last runs of this caller, newest first.",
    params: z.strictObject({
      run: run.optional(),
      wait_seconds: z.int().min(0).max(50).default(0).describe("how long to wait for its end, or until a person must decide"),
    }),
    call: async (api, caller, p) =>
      p.run === undefined
        ? { runs: await api.runs({ caller, limit: RUNS }) }
        : api.run({ caller, run: p.run, waitMs: 1000 * p.wait_seconds }),
  }),
  own({
    ...{ name: "cancel_run", title: "Cancel a run", readOnly: false, local: false },
    about: "Ends a run that has not ended. What it has written or sent stays.",
    params: z.strictObject({ run }),
    call: (api, caller, p) => api.cancel({ caller, ...p }),
  }),
  own({
    ...{ name: "queue", title: "What waits for a person", readOnly: true, local: false },
    about: "The open cards: what waits for a person to decide, and where they do. No tool decides one.",
    params: z.strictObject({}),
    call: async (api, caller) => ({ cards: await api.cards({ caller }) }),
  }),
  own({
    ...{ name: "why", title: "Why a run or an entry is as it is", readOnly: true, local: true },
    about: "A run with its calls (the last 100), or an entry of the books with the run that made it and who decided about it.",
    params: z.union([z.strictObject({ run }), z.strictObject({ entry: z.string().max(40).describe("such as 250118-hv6g7yz9cr") })]),
    call: (api, caller, p): Promise<unknown> => ("entry" in p ? api.entry({ caller, ...p }) : api.why({ caller, ...p })),
  }),
  own({
    ...{ name: "ask", title: "Ask for a change, or about the books", readOnly: false, local: true },
    about:
      "Asks the meta-agent for a change of the business's processes, or a question about its books. It answers, asks one question back, declines, or makes a proposal, which a person decides. With `request` alone: how that request stands; with both: the answer to its question.",
    params: z.strictObject({
      text: z.string().min(1).max(10_000).optional().describe("what is wanted, in words"),
      request: z.int().min(1).optional().describe("its number, of an earlier answer"),
    }),
    call: (api, caller, p) => api.ask({ caller, ...p, waitMs: PATIENCE_MS }),
  }),
];

/** An agent named like a general tool gets a suffix. */
const nameOf = ({ name }: Agent): string => (OWN.some((one) => one.name === name) ? `${name}_agent` : name);
const mine = ({ owner }: Caller) => OWN.filter(({ local }) => !local || owner === LOCAL);
const hints = (readOnlyHint: boolean, openWorldHint: boolean) => ({ readOnlyHint, destructiveHint: !readOnlyHint, openWorldHint });

export async function listTools(api: McpApi, caller: Caller) {
  const agents = await api.agents({ caller });
  return [
    ...agents.map((agent) => ({
      ...{ name: nameOf(agent), title: agent.title, description: descriptionOf(agent), inputSchema: schemaOf(agent) },
      ...{ outputSchema: TOLD, annotations: hints(agent.readOnly, true) },
    })),
    ...mine(caller).map(({ name, title, about, params, readOnly }) => {
      const { $schema: _, ...schema } = z.toJSONSchema(params, { io: "input" });
      return { name, title, description: about, inputSchema: { type: "object", ...schema }, annotations: hints(readOnly, false) };
    }),
  ];
}

/** Null for a tool that this caller does not have. `failed`: the intended effect did not happen. @throws what the operation throws, RUN_INPUT */
export async function callTool(api: McpApi, caller: Caller, name: string, args: Fields) {
  const found = mine(caller).find((one) => one.name === name);
  if (found !== undefined) {
    const params = found.params.safeParse(args);
    if (!params.success) throw new ClearedError("RUN_INPUT", `The arguments of ${name} do not fit:\n${z.prettifyError(params.error)}`);
    return { value: await found.call(api, caller, params.data), failed: false };
  }
  const agent = (await api.agents({ caller })).find((one) => nameOf(one) === name);
  if (agent === undefined) return null;
  const { [KEY]: key, ...rest } = args;
  const keyed = !Object.hasOwn(agent.input, KEY);
  if (keyed && key !== undefined && (typeof key !== "string" || !/^.{1,255}$/.test(key)))
    throw new ClearedError("RUN_INPUT", `${KEY} must be a text of 1 to 255 characters.`);
  const wanted = keyed ? { input: rest, key: key as string | undefined } : { input: args };
  const told = await api.call({ caller, agent: agent.name, ...wanted, waitMs: PATIENCE_MS });
  return { value: told, failed: BAD.includes(told.status) || ("outcome" in told && told.outcome !== "completed") };
}

function descriptionOf({ description, title, readOnly }: Agent): string {
  const acts = readOnly ? "It only reads." : "What its policy does not allow waits for a person, who decides at review_url.";
  return `${description === "" ? title : description}\n${acts} An answer without \`answer\` is not the end: look again with run_status.`;
}

function schemaOf({ input }: Agent): Fields {
  const fields = Object.entries(input);
  if (fields.length === 0) return { type: "object" };
  const key = { [KEY]: { type: "string", description: "the same key is the same run, also when the call is made again later" } };
  const properties = { ...key, ...Object.fromEntries(fields.map(([name, one]) => [name, fieldSchema(one)])) };
  const required = fields.filter(([, one]) => one.required === true).map(([name]) => name);
  return { type: "object", properties, additionalProperties: false, required };
}

function fieldSchema({ type, describe: description, enum: values, default: fallback }: InputField): Fields {
  const told = { ...(description && { description }), ...(values && { enum: values }) };
  return { ...(FORMS[type] ?? { type }), ...told, ...(fallback === undefined ? {} : { default: fallback as Json }) };
}

/** Types that JSON Schema calls differently. */
const FORMS: Partial<Record<InputField["type"], Fields>> = {
  money: { type: "string", pattern: AMOUNT_PATTERN.source, description: 'an amount as text, such as "42.99"' },
  date: { type: "string", format: "date", description: "YYYY-MM-DD" },
  list: { type: "array" },
};
