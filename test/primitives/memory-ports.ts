/** Ports in memory for tests of primitives alone: what a primitive asks of its ports, and nothing of how they keep it. */
import {
  type Account,
  type Decision,
  type Entry,
  type EntryDraft,
  type Json,
  ORDER,
  type PrimitivePorts,
  type ToolInfo,
  type Verdict,
} from "../../runtime/kernel/ports.ts";
import type { Gate, StepContext } from "../../runtime/kernel/primitive.ts";
import { machineOf, startOf } from "../../runtime/kernel/states.ts";

export interface Memory {
  ctx: StepContext;
  drafts: EntryDraft[];
  entries: Entry[];
  reviews: { title: string; body: Json; entry: string | null }[];
  logs: string[];
  gates: Gate[];
  files: Map<string, string>;
}

export const ACCOUNTS: Account[] = [
  { id: "1010", name: "Assets:Bank:Checking", type: "asset" },
  { id: "5020", name: "Expenses:Software", type: "expense" },
  { id: "5030", name: "Expenses:Office Supplies", type: "expense" },
];

export const ID = "261106-9sd0ee4k2m";

const TOOL: ToolInfo = {
  tool: "erp/get_invoice",
  server: "erp",
  name: "get_invoice",
  description: "One invoice",
  input_schema: { type: "object" },
  class: "read",
  why: "its name",
};

const PASSED: Verdict = {
  verdict: "pass",
  passed: true,
  blocked: false,
  requires_approval: false,
  escalation_required: false,
  level: null,
  levels: [],
  distinct_from_requester: false,
  approvals: 1,
  triggered: [],
  indeterminate: [],
  summary: "all rules passed",
  inputs_hash: "0".repeat(12),
  policy_hash: "0".repeat(12),
};

const idOf = (n: number): string => `261106-${String(n).padStart(10, "a")}`;

/** decision: what a gate answers. */
export function memory(options: { mode?: "live" | "dry"; decision?: Partial<Decision>; config?: Record<string, Json> } = {}): Memory {
  const config = options.config ?? { "thresholds.auto_confirm": 0.95 };
  const kept: Omit<Memory, "ctx"> = { drafts: [], entries: [], reviews: [], logs: [], gates: [], files: new Map() };
  const ports: PrimitivePorts = {
    books: {
      accounts: async () => ACCOUNTS,
      add: async (drafts) => {
        const from = kept.drafts.length;
        kept.drafts.push(...drafts);
        return drafts.map((_, i) => ({ entry_id: idOf(from + i), known: false }));
      },
      last: () => (kept.drafts.length === 0 ? null : idOf(kept.drafts.length - 1)),
      query: async () => kept.entries,
      void: async () => ({ void_entry_id: ID }),
      setStatus: async () => undefined,
      balance: async () => ({ USD: "12.50" }),
    },
    imports: {
      scan: async () => [{ name: "statement.csv", size: 12, modified: "2026-11-06T10:00:00.000Z" }],
      parse: async () => [
        {
          id: ID,
          date: "2026-11-06",
          description: "GITHUB",
          raw_description: "GITHUB *PRO",
          amount: "-4.00",
          currency: "USD",
          reference: "r1",
          type: "",
          account: "1010",
        },
      ],
      markProcessed: async (name) => ({
        file: name,
        hash: "0".repeat(64),
        dialect: "chase",
        account: "1010",
        currency: "USD",
        rows: 1,
        new: 1,
        known: 0,
        twin: 0,
        refused: [],
        unbooked: [],
        asked: [],
        removed: [],
        opening: null,
        closing: null,
        gap: null,
      }),
      deduplicate: async (rows) => rows,
    },
    files: {
      read: async (path) => kept.files.get(path) ?? null,
      write: async (path, text) => void kept.files.set(path, text),
    },
    config: async (key) => config[key],
    configKeys: async () => Object.keys(config),
    propose: async () => ({ accepted: true, proposal: "prop_0123456789", reason: "" }),
    wishes: { rules: async () => ({ offered: [], unclear: [] }), process: async () => ({ agent: null, request: null, says: "none" }) },
    review: (item) => void kept.reviews.push(item),
    pending: async () => [],
    log: (message) => void kept.logs.push(message),
    emit: () => undefined,
    notices: {
      send: async ({ key }, { now }) => ({ notice: key, channel: "page", state: "sent", due: now }),
      schedule: async ({ at }) => ({ run: "run_2", at, created: true }),
    },
    audit: async (line) => ({ id: "0", file: `audit/${line.date}.json` }),
    gitLog: async () => [{ commit: "a".repeat(40), date: "2026-11-06", author: "Cleared", subject: "import: 1", trailers: {} }],
    tools: {
      list: async () => [TOOL],
      find: async () => [TOOL],
      get: async () => TOOL,
      call: async () => ({ result: { ok: true }, write: null, notes: [] }),
      fetchAll: async () => ({ records: [{ id: "1" }], complete: true, pages: 1, duplicates: 0, reason: null }),
      readBack: async () => null,
      undoable: async (write) => write,
    },
    agents: {
      classOf: async () => "mutate",
      follow: async () => ({ is: "ended", task: "1", state: "completed", text: "", data: null }),
      answer: async () => undefined,
      giveUp: async () => undefined,
    },
    session: async () => ({ turns: [], earlier: "", runs: [] }),
    children: {
      readOnly: async () => false,
      run: async () => ({ run: "run_2", ended: { status: "done", outcome: "completed", result: null, error: null } }),
    },
    policies: { evaluate: async () => PASSED },
    llm: {
      modelOf: async () => "scripted/one",
      decided: async () => ({ decided: 0, confirmed: 0 }),
      doubtful: () => null,
      generate: async ({ tools, schema }) => ({
        content: [
          tools === undefined
            ? { type: "text", text: "ready" }
            : { type: "tool_call", id: "1", tool: "finish", params: { answer: "ready" } },
        ],
        ...(schema === undefined ? {} : { value: { class: "Software", fields: [] } }),
        ...{ stop: tools === undefined ? "end" : "tools", model: "scripted/one", attempts: 1, cost: "0.00" },
        usage: { input: 1, output: 1, cache_read: 0, cache_write: 0 },
      }),
    },
  };
  const ctx: StepContext = {
    ports,
    run: { id: "run_1", agent: "ingest", mode: options.mode ?? "live" },
    key: "run_1/1",
    now: Date.UTC(2026, 10, 6, 12),
    today: "2026-11-06",
    inDoubt: false,
    abort: new AbortController().signal,
    gate: async (gate) => {
      kept.gates.push(gate);
      return { card: 1, decision: "approved", by: "ann", at: 0, ...options.decision };
    },
    commit: async () => "b".repeat(40),
    process: startOf(machineOf(ORDER.map((state) => ({ state, line: "", conditional: false })))),
    escalate: async () => null,
    changed: () => undefined,
  };
  return { ...kept, ctx };
}
