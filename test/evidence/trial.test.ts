import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";
import { type Workspace, host, removeAll, run, workspace } from "../engine/harness.ts";
import { header, only, tried } from "./trials.ts";

const DAY = 86_400_000;
let now = Date.UTC(2026, 10, 6, 12);
let one: Workspace;
let opened: Host;

/** Agents whose recorded run is what the rewrites below are tried on, by name. */
const RECORDED: Record<string, string> = {
  book: `${header("journal, config, ctx")}
const limit = config_get("thresholds.auto_confirm");
const made = journal_add_double({ date: "2026-11-06", description: "Hosting", debit_account: 5030, credit_account: 1010, amount: "42.00", key: "hosting", status: "auto-confirmed", evidence: "rule: HOST" });
ctx_emit({ event: "booked", payload: { key: "hosting" } });
({ known: made.known, limit })
`,
  rates: `${header("bank, ctx")}
const first = bank_rate({ day: "one", failures: 0 });
const again = bank_rate({ day: "one", failures: 0 });
const other = bank_rate({ day: "two", failures: 0 });
({ rates: [first.rate, again.rate, other.rate], today: ctx_today() })
`,
  fails: `${header("journal, ctx")}
journal_add_double({ date: "2026-11-06", description: "Nowhere", debit_account: 9999, credit_account: 1010, amount: "1.00", key: "nowhere" });
1;
`,
  files: `${header("data, ctx")}
data_write({ path: "note.txt", text: "one" });
({ text: data_read("note.txt") })
`,
  takes: `${header("ctx", "input: { limit: { type: integer, default: 5 } }\n")}
({ limit: input.limit })
`,
  tells: `${header("notify")}
notify_send({ to: "ann@example.com", subject: "Done", text: "All of it." }).notice !== "";
`,
};

beforeAll(async () => {
  one = await workspace(Object.fromEntries(Object.entries(RECORDED).map(([name, text]) => [`agents/${name}.ts`, text])));
  opened = await host(one, { clock: { now: () => now } });
  for (const agent of Object.keys(RECORDED)) await run(opened, agent);
  now += 40 * DAY;
});
afterAll(removeAll);

/** The agent's text with parts replaced, in turns. */
function edited(agent: string, ...parts: string[]): Record<string, string> {
  let text = RECORDED[agent] ?? one.read(`agents/${agent}.ts`);
  for (let n = 0; n < parts.length; n += 2) {
    if (!text.includes(parts[n] ?? "")) throw new Error(`${agent} has no ${parts[n]}`);
    text = text.replace(parts[n] ?? "", () => parts[n + 1] ?? "");
  }
  return { [`agents/${agent}.ts`]: text };
}

const CASES: [what: string, agent: string, parts: string[], expected: string, why: RegExp | null][] = [
  ["other words for the same calls", "book", ["made", "entry", "made.known", "entry.known"], "same", null],
  ["another default of its input", "takes", ["default: 5", "default: 7"], "changed", /^result: limit 5 -> 7$/],
  [
    "an input that nobody gives",
    "takes",
    ["limit: { type: integer, default: 5 }", "limit: { type: integer, required: true }"],
    "failed",
    /^fails with RUN_INPUT where it did not fail: .*"limit" is missing/,
  ],
  [
    "another channel",
    "tells",
    [`subject: "Done"`, `channel: "page", subject: "Done"`],
    "changed",
    /^new notice to ann@example.com by page: Done$/,
  ],
  [
    "keys in another order",
    "book",
    [`debit_account: 5030, credit_account: 1010`, `credit_account: 1010, debit_account: 5030`],
    "same",
    null,
  ],
  ["a line in the log", "book", ["ctx_emit", `ctx_log("hello");\nctx_emit`], "same", null],
  ["another account", "book", ["5030", "5020"], "changed", /Office Supplies 42.00 USD.* -> .*Software 42.00 USD/],
  ["another amount", "book", ["42.00", "43.00"], "changed", /42.00 USD.* -> .*43.00 USD/],
  ["another reason", "book", ["rule: HOST", "rule: HOSTING"], "changed", /evidence "rule: HOST" -> "rule: HOSTING"/],
  ["another key is another entry", "book", [`key: "hosting", status`, `key: "other", status`], "changed", /gone/],
  [
    "an entry less",
    "book",
    ["const made = journal_add_double", "const made = { known: false };\nconst never = () => journal_add_double"],
    "changed",
    /-> gone/,
  ],
  ["an event less", "book", [`ctx_emit({ event: "booked", payload: { key: "hosting" } });`, ""], "changed", /no more event booked/],
  ["another event", "book", [`event: "booked"`, `event: "entered"`], "changed", /new event entered/],
  ["another result", "book", ["limit })", "limit, more: 1 })"], "changed", /result: more nothing -> 1/],
  ["a throw", "book", ["({ known", `throw new Error("no");\n({ known`], "failed", /fails with SCRIPT_ERROR where it did not fail: no/],
  ["a capability less", "book", ["journal, config", "config"], "failed", /SCRIPT_CAPABILITY/],
  ["an account that is not there", "book", ["5030", "5999"], "failed", /ACCOUNT_UNKNOWN/],
  ["a syntax error", "book", ["const limit", "const const"], "failed", /SCRIPT_SYNTAX/],
  ["a price that is not exact", "book", [`"42.00"`, `"42.001.1"`], "worse", /JOURNAL_AMOUNT/],
  ["what failed and fails alike", "fails", ["Nowhere", "Somewhere"], "same", null],
  ["what failed and does not any more", "fails", ["9999", "5030"], "changed", /no longer fails \(ACCOUNT_UNKNOWN\)/],
  [
    "reads in another order",
    "rates",
    [
      `const other = bank_rate({ day: "two", failures: 0 });\n`,
      "",
      "const first",
      `const other = bank_rate({ day: "two", failures: 0 });\nconst first`,
    ],
    "same",
    null,
  ],
  ["a read less", "rates", [`bank_rate({ day: "two", failures: 0 })`, "first"], "same", null],
  [
    "a read more than was recorded, which answers as before",
    "rates",
    ["const other", `bank_rate({ day: "one", failures: 0 });\nconst other`],
    "same",
    null,
  ],
  ["a read of something else", "rates", [`day: "two"`, `day: "three"`], "not_replayable", /bank_rate\(.*"three"/],
  ["the day it was, not today", "rates", ["ctx_today()", "ctx_now().slice(0, 10)"], "same", null],
  ["other text in a file", "files", [`text: "one"`, `text: "two"`], "changed", /result: text.text "one" -> "two"/],
];

test.for(CASES)("%s: %s %$", async ([, agent, parts, expected, why]) => {
  const difference = await only(opened, agent, edited(agent, ...parts));
  if (difference === "same") return expect("same").toBe(expected);
  expect([difference.class, difference.why]).toEqual([expected, [expect.stringMatching(why ?? /^$/), ...difference.why.slice(1)]]);
});

test("a machine that is too slow says nothing about the code", async () => {
  const { world } = opened;
  const slow: Host = {
    ...opened,
    world: { ...world, limits: async (run) => ({ ...(await world.limits(run)), wall_ms: 1, cpu_ms: 5000 }) },
  };
  const busy = edited("rates", "const first", "for (let n = 0; n < 2e6; n += 1) Math.sqrt(n);\nconst first");
  const found = await only(slow, "rates", busy);
  expect(found === "same" ? found : [found.class, found.why]).toEqual(["not_replayable", ["it did not end in time on this machine"]]);
});

test("a bare read is a read: if only its trusted server could classify a tool, no trial calls it", async () => {
  const trust = parseTrust(one.read("trust.yaml").replace(/^mcp: .*$/m, "mcp: {erp: {command: nothing, trusted: true}}"));
  const trusting: Host = { ...opened, trust };
  const reading = (tool: string) =>
    edited(
      "rates",
      "uses: [bank, ctx]",
      "uses: [bank, ctx, mcp]",
      "const other",
      `mcp_call({ tool: "erp/${tool}", params: {} });\nconst other`,
    );
  const of = async (tool: string) => {
    const found = await only(trusting, "rates", reading(tool));
    return found === "same" ? found : [found.class, found.why[0]];
  };
  expect(await of("ledger")).toEqual(["not_replayable", "whether erp/ledger reads or writes only its server can tell"]);
  expect(await of("get_ledger")).toEqual(["not_replayable", expect.stringContaining('"erp/get_ledger"')]);
  expect(await of("pay_invoice")).toEqual(["failed", expect.stringContaining("APPROVAL_REQUIRED")]);
});

describe("what reads the commit's files and the books", () => {
  test("is computed on the books as they were", async () => {
    await run(opened, "book"); // known by now
    const text = edited(
      "book",
      "const made",
      'const seen = journal_query({ text: "Hosting" }).length;\nconst made',
      "({ known",
      "({ seen, known",
    );
    const report = await tried(opened, "book", text);
    expect(report.differences.map(({ why }) => why[0]).sort()).toEqual(["result: seen nothing -> 0", "result: seen nothing -> 1"]);
  });
});
