/**
 * Tools of the servers in trust.yaml, and of an endpoint passed with the run. What a call may do follows from the class of its tool
 * (runtime/rules/tools/classify.ts): a read is a read, everything else acts outside and needs the approval that its verdict demands.
 */
import { z } from "zod";
import { ClearedError, didYouMean } from "../runtime/kernel/errors.ts";
import { standing } from "../runtime/rules/answers/mutations.ts";
import type { Json, VerifiedWrite } from "../runtime/kernel/ports.ts";
import { definePrimitive, type StepContext } from "../runtime/kernel/primitive.ts";
import { redactJson } from "../runtime/rules/privacy/scan.ts";
import { failureIn, isObject, requiredOf } from "../runtime/rules/tools/shape.ts";
import { takeBack } from "../runtime/rules/tools/undo.ts";
import { checked, json, record, shown, text } from "./_shapes.ts";

const tool = checked<string>((value) => typeof value === "string" && value.length <= 300 && /^[^/\s]+\/\S+$/.test(value), {
  says: (value) => `${shown(value)} is not a tool; write SERVER/NAME, such as "erp/get_invoice"; mcp_list() lists them`,
  ts: "string",
});
const params = record.default({}).describe("the tool's own parameters");
const REMOTE = { effect: "read", remote: true } as const;
const READ_ERRORS = ["TOOL_UNKNOWN", "TOOL_ARGUMENTS", "TOOL_FAILED", "TOOL_DOWN", "TOOL_TIMEOUT", "TOOL_ANSWER"];

const listed = z.object({
  tool: z.string(),
  description: z.string().describe("the server's own text"),
  class: z.enum(["read", "compute", "mutate"]),
  why: z.string().describe("the reason for its class"),
  input_schema: json,
});

const NOT_READ = { read: null, expected: {}, before: null, after: null, diff: {} } as const;

type Asked = { tool: string; params: Record<string, Json> };

/** Makes the call and records its read-back; secrets and personal numbers are redacted before script and history see them. @throws TOOL_* */
async function called({ tool, params }: Asked, ctx: StepContext, alone = false): Promise<Json> {
  const { result, write, notes } = await ctx.ports.tools.call(
    { tool, params },
    { key: ctx.key, now: ctx.now, abort: ctx.abort, leaving: ctx.leaving, writes: ctx.writes, seen: ctx.seen, inDoubt: ctx.inDoubt },
  );
  for (const note of notes) ctx.ports.log(note);
  if (write !== null) ctx.changed({ op: "verified", write });
  // In a process the next call waits for a person (settleWrites); elsewhere the script continues, and a review item is created.
  if (write?.status === "MISMATCH" && ctx.process === null)
    ctx.ports.review({
      title: `MISMATCH: ${tool} reported success, but its record differs`,
      body: { params, diff: write.diff },
      entry: null,
    });
  if (write?.status === "WRITE_FAILED") throw await failed(write, failureIn(result) ?? write.answer, ctx, alone);
  return redactJson(result);
}

/** A failed write, with a review item if its record changed nevertheless, or if it ends its process midway (`alone`) after other writes. */
async function failed({ tool, params, diff }: VerifiedWrite, says: string, ctx: StepContext, alone: boolean): Promise<ClearedError> {
  const changed = Object.keys(diff).length > 0;
  const ends = alone && ctx.process !== null;
  const { stands } = standing(ctx.writes ?? []);
  const title = changed ? `${tool} says it failed, but its record has changed` : `${ctx.run.agent} stopped: ${tool} failed`;
  const undone = ends ? await takeBack(ctx, ctx.writes ?? []) : [];
  const take_back = undone.length === 0 ? {} : { take_back: undone };
  if (changed || ends) ctx.ports.review({ title, body: { params, answer: says, diff, stands, ...take_back }, entry: null });
  const before = stands.length === 0 ? ". Nothing was written before it" : `. Written before it, and not undone: ${stands.join("; ")}`;
  const left = [before, ...undone].join(". ");
  const message = changed ? `${says}. Its record has changed nevertheless: look at it before sending this again` : says;
  return new ClearedError("TOOL_FAILED", `${tool}: ${message}${ends ? left : ""}`, { data: { tool, changed } });
}

export const mcp_call = definePrimitive({
  name: "mcp_call",
  effect: "external",
  summary: "Call a tool; a write is verified against its record afterwards. Accepts a call of approval_wait unchanged.",
  params: z.object({ tool, params }),
  returns: json,
  errors: [...READ_ERRORS, "TOOL_LOST"],
  example: `mcp_call({ tool: "erp/get_invoice", params: { invoice_id: "INV-2024-447" } })`,
  classify: async (p, ctx) => {
    const found = await ctx.ports.tools.get(p.tool);
    return found.class === "mutate" ? { effect: "external", access: "external" } : { effect: "read", access: "read" };
  },
  call: ({ tool, params }) => ({ tool, params }),
  run: (p, ctx) => called(p, ctx, true),
  dryRun: async (p, ctx) => {
    // In a live run this answers a write that a person confirms as done: its server may be gone, and is not called again.
    if (ctx.run.mode === "live") {
      const answer = "a person says that it happened";
      ctx.changed({ op: "verified", write: await ctx.ports.tools.undoable({ ...NOT_READ, ...p, status: "UNVERIFIABLE", answer }) });
      ctx.changed({ op: "accepted", by: answer });
      return { confirmed: true, tool: p.tool };
    }
    const found = await ctx.ports.tools.get(p.tool);
    return found.class === "mutate" ? { simulated: true, tool: p.tool, params: p.params } : called(p, ctx);
  },
  readBack: async ({ tool, params }, ctx) => {
    const seen = await ctx.ports.tools.readBack({ tool, params }, { key: ctx.key, abort: ctx.abort });
    if (seen?.happened !== true) return seen === null ? null : { ...seen, happened: false };
    const answer = "its record shows it; the answer was lost when the run was interrupted";
    ctx.changed({ op: "verified", write: await ctx.ports.tools.undoable({ ...NOT_READ, tool, params, status: "VERIFIED", answer }) });
    return { happened: true, result: { read_back: true, tool } };
  },
});

/** Certainly nothing was done: the server, or its schema, refused. */
const REFUSALS: readonly string[] = ["TOOL_FAILED", "TOOL_ARGUMENTS"];

export const mcp_try = definePrimitive({
  ...mcp_call,
  name: "mcp_try",
  summary:
    "An mcp_call for one of many: a refusal by the tool is an answer, so that the script can continue with the others. Approvals cover it in the same way.",
  returns: z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), result: json }),
    z.object({ ok: z.literal(false), code: z.string(), message: z.string() }),
  ]),
  errors: ["TOOL_UNKNOWN", "TOOL_DOWN", "TOOL_TIMEOUT", "TOOL_ANSWER", "TOOL_LOST"],
  example: `mcp_try({ tool: "erp/get_invoice", params: { invoice_id: "INV-2024-447" } })`,
  run: tried,
  dryRun: async (p, ctx) => ({ ok: true as const, result: (await mcp_call.dryRun?.(p, ctx)) ?? null }),
  readBack: async (p, ctx) => {
    const seen = (await mcp_call.readBack?.(p, ctx)) ?? null;
    return seen?.happened === true ? { happened: true, result: { ok: true as const, result: seen.result } } : seen;
  },
});

const isChanged = (data: unknown): boolean => (data as { changed?: boolean } | undefined)?.changed === true;

async function tried(p: Asked, ctx: StepContext) {
  try {
    return { ok: true as const, result: await called(p, ctx) };
  } catch (error) {
    if (!(error instanceof ClearedError) || !REFUSALS.includes(error.code) || isChanged(error.data)) throw error;
    return { ok: false as const, code: error.code, message: error.message };
  }
}

/** @throws PARAMS_INVALID */
async function assertReads(name: string, tool: string, ctx: StepContext): Promise<void> {
  const { class: kind, why } = await ctx.ports.tools.get(tool);
  if (kind !== "mutate") return;
  const next = "Use mcp_call, or set its class in trust.yaml if it only reads";
  throw new ClearedError("PARAMS_INVALID", `${name}: ${tool} is not a reading tool (${why}). ${next}.`);
}

export const mcp_list = definePrimitive({
  name: "mcp_list",
  ...REMOTE,
  summary: "The tools on offer, with their classes and schemas.",
  params: z.object({ server: text.optional().describe("only this server's") }),
  returns: z.array(listed),
  errors: ["TOOL_UNKNOWN", "TOOL_DOWN", "TOOL_TIMEOUT", "TOOL_ANSWER"],
  example: `mcp_list({ server: "erp" })`,
  run: (p, ctx) => ctx.ports.tools.list(p.server),
});

export const mcp_find = definePrimitive({
  name: "mcp_find",
  ...REMOTE,
  summary: "Tools nearest to a request in words, best first.",
  params: z.object({ wish: text, limit: z.int().min(1).max(50).default(5) }),
  returns: z.array(listed),
  errors: ["TOOL_DOWN", "TOOL_TIMEOUT", "TOOL_ANSWER"],
  example: `mcp_find("look up an unpaid invoice")`,
  run: (p, ctx) => ctx.ports.tools.find(p.wish, p.limit),
});

export const mcp_record = definePrimitive({
  name: "mcp_record",
  ...REMOTE,
  summary: "The one record that a reading tool returns. If there is none, the run ends with an input error that names the nearest id.",
  params: z.object({ tool, params }),
  returns: json,
  errors: [...READ_ERRORS, "PARAMS_INVALID", "RECORD_UNKNOWN"],
  example: `mcp_record({ tool: "erp/get_invoice", params: { invoice_id: "INV-2024-447" } })`,
  call: ({ tool, params }) => ({ tool, params }),
  run: async ({ tool, params }, ctx) => {
    await assertReads("mcp_record", tool, ctx);
    const answer = await called({ tool, params }, ctx).catch((error: unknown) => {
      if (error instanceof ClearedError && error.code === "TOOL_FAILED" && ABSENT.test(error.message)) return null;
      throw error;
    });
    if (!isAbsent(answer)) return answer;
    const asked = Object.entries(params).map(([key, value]) => `${key} ${typeof value === "string" ? value : shown(value)}`);
    const near = await nearestIds(tool, params, ctx).catch(() => "");
    throw new ClearedError(
      "RECORD_UNKNOWN",
      `${tool} has no record of ${asked.join(", ")}.${near} Correct it in the input, or in the record that names it.`,
    );
  },
});

const ABSENT = /not found|no such|does not exist|unknown/i;
const isAbsent = (answer: Json): boolean =>
  answer === null || (isObject(answer) && (Object.keys(answer).length === 0 || answer["found"] === false));

/** For each id that is in no record of the tool's list, the nearest one: "get_invoice" belongs to "list_invoices". */
async function nearestIds(tool: string, params: Record<string, Json>, ctx: StepContext): Promise<string> {
  const [server = "", noun = ""] = tool.split(/\/(?:[a-z]+_)?/);
  const names = [`${noun}s`, noun.replace(/y$/, "ies"), noun].map((name) => `${server}/list_${name}`);
  const found = (await ctx.ports.tools.list(server)).find((one) => one.class === "read" && names.includes(one.tool));
  if (found === undefined || requiredOf(found.input_schema).length > 0) return "";
  const { records } = await ctx.ports.tools.fetchAll({ tool: found.tool, params: {} }, { abort: ctx.abort });
  return Object.entries(params)
    .map(([key, value]) => {
      const known = records.flatMap((one) => (isObject(one) && typeof one[key] === "string" ? [one[key]] : []));
      return typeof value !== "string" || known.includes(value) ? "" : didYouMean(value, known);
    })
    .join("");
}

export const mcp_fetch_all = definePrimitive({
  name: "mcp_fetch_all",
  ...REMOTE,
  summary: "All pages of a reading tool. Check complete before adding up: the data_* functions refuse an incomplete answer.",
  params: z.object({ tool, params, where: record.optional().describe("only records whose fields equal these") }),
  returns: z.object({
    records: z.array(json),
    complete: z.boolean(),
    pages: z.number(),
    duplicates: z.number().describe("records that came twice and are listed once"),
    reason: z.string().nullable().describe("why it is not complete"),
  }),
  errors: [...READ_ERRORS, "PARAMS_INVALID"],
  example: `mcp_fetch_all({ tool: "erp/list_invoices", where: { status: "open" } })`,
  run: async (p, ctx) => {
    await assertReads("mcp_fetch_all", p.tool, ctx);
    const where = p.where === undefined ? {} : { where: p.where };
    const all = await ctx.ports.tools.fetchAll({ tool: p.tool, params: p.params }, { ...where, abort: ctx.abort });
    return { ...all, records: redactJson(all.records) as Json[] };
  },
});
