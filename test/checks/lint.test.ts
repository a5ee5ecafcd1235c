/** What is said about calls and headers without running the script. */
import { expect, it } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { type FoundCall, type LintedHeader, lintCalls, lintExamples, lintTrigger, lintUses } from "../../runtime/change/checks/lint.ts";
import { formatFinding } from "./format-finding.ts";
import { createRegistry } from "../../runtime/kernel/registry.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";

const registry = createRegistry(primitives);
const file = "agents/x.ts";
const call = (name: string, keys: string[] | null, line = 1): FoundCall => ({
  name,
  keys,
  bare: keys === null,
  given: {},
  at: { file, line, col: 3 },
});
const said = (calls: FoundCall[], uses: string[] | null = null) =>
  lintCalls(calls, uses === null ? null : { uses }, registry).map(formatFinding);

it("an unknown primitive and an unknown key are reported with place and nearest name", () => {
  expect(said([call("queue_add_reviw", ["description"], 9), call("journal_add_double", ["date", "ammount"], 4)])).toEqual([
    expect.stringContaining(
      'agents/x.ts:4:3 SCRIPT_UNKNOWN_KEY journal_add_double has no key "ammount". Did you mean "amount"? It takes date, description,',
    ),
    'agents/x.ts:9:3 PRIMITIVE_UNKNOWN There is no primitive "queue_add_reviw". Did you mean "queue_add_review"?',
  ]);
});

it("a primitive without parameters is reported as such", () => {
  expect(said([call("ctx_today", ["zone"])])).toEqual([expect.stringContaining('ctx_today has no key "zone". It takes no parameters.')]);
});

it("a call outside `uses:` is found; a bare call and a covered one are accepted", () => {
  expect(said([call("journal_void", ["entry_id", "reason"])], ["importer", "ctx"])).toEqual([
    'agents/x.ts:1:3 SCRIPT_CAPABILITY journal_void needs "journal" in the header\'s uses:, and it has [importer, ctx]. Add it, or drop the call.',
  ]);
  expect(said([call("ctx_log", null), call("importer_scan", [])], ["importer", "ctx"])).toEqual([]);
  expect(said([call("ctx_log", null)], [])).toEqual([expect.stringContaining("it has none")]);
});

it("calling another agent needs that agent in `uses:`; a computed name is checked by the host", () => {
  const calling = (given: Record<string, string>) => [{ ...call("agent_call", ["agent"]), given }];
  expect(said(calling({ agent: "pay" }), ["agent:look", "ctx"])).toEqual([expect.stringContaining('agent_call needs "agent:pay"')]);
  expect(said(calling({ agent: "look" }), ["agent:look"])).toEqual([]);
  expect(said(calling({}), ["agent:look"])).toEqual([]);
  expect(lintUses({ uses: ["agent:look"] }, file, registry, ["look"])).toEqual([]);
  expect(lintUses({ uses: ["agent:lok"] }, file, registry, ["look"])[0]?.message).toContain('Did you mean "agent:look"?');
});

it("an example that the header's own input refuses is found", () => {
  const header = parseHeader("/*\nname: X\ninput: { n: { type: integer, required: true } }\nexamples: [{ n: 1 }, { n: x }, {}]\n*/", file);
  expect(lintExamples(header, file).map(formatFinding)).toEqual([
    expect.stringContaining(
      'agents/x.ts SCRIPT_HEADER examples[1]: The input of "X" does not fit its header: n: "x" is not a whole number',
    ),
    expect.stringContaining('examples[2]: The input of "X" does not fit its header: the field "n" is missing'),
  ]);
});

it("a sub-script is checked without capabilities, because its caller's apply", () => {
  expect(said([call("journal_void", ["entry_id", "reason"])], null)).toEqual([]);
});

it("an unknown capability is found with the nearest one", () => {
  expect(lintUses({ uses: ["journal_void"] }, file, registry)[0]?.message).toContain('Write its domain, "journal".');
  expect(lintUses({ uses: ["journals", "git"] }, file, registry).map((one) => one.message)).toEqual([
    expect.stringContaining('uses: names "journals", which is not a known domain. Did you mean "journal"?'),
  ]);
});

it.each<[LintedHeader, string]>([
  [{ trigger: ["on_demand"], schedule: "0 6 * * *" }, "The header has schedule:, but trigger: does not name schedule"],
  [{ watch: "import/" }, "trigger: does not name file_watch"],
  [{ trigger: ["schedule"], schedule: "0 6 * * *", on_event: "a" }, "trigger: does not name event"],
])("%j: %s", (header, says) => {
  expect(lintTrigger(header, file)).toEqual([{ code: "HEADER_TRIGGER", at: { file }, message: expect.stringContaining(says) }]);
});

it("a complete trigger has no finding", () => {
  expect(
    lintTrigger(
      { trigger: ["schedule", "file_watch", "event", "on_demand"], schedule: "0 6 * * *", watch: "import/", on_event: "a" },
      file,
    ),
  ).toEqual([]);
});
