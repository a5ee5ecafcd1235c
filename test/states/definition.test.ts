/** A proposed machine: what a model's text becomes, what is refused, and that it can stand as a script's header. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Definition, definitionHeader, parseDefinition, processName, statesWithoutLine } from "../../runtime/rules/definition.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";
import { machineProblems } from "../../runtime/kernel/states.ts";
import { vectors, wrongRows } from "../vectors/load.ts";

const FILE = "dynamic_fsm.json";
const read = (text: unknown, demands?: { irreversible: boolean }) =>
  parseDefinition(typeof text === "string" ? text : JSON.stringify(text), demands);

describe(FILE, () => {
  // Not built: fallback_definition. A proposal that is refused is not replaced by a machine nobody proposed.
  const built = vectors(FILE).filter((one) => one.function !== "fallback_definition");
  it.each(built.map((one) => [one.function, JSON.stringify(one.args), one] as const))("%s %s", (_, __, { args, expected }) => {
    const found = read(args["text"]);
    if (expected === null) expect(found).toMatchObject({ problems: [expect.any(String)] });
    else expect(found).toEqual({ definition: expected });
  });

  it.each(wrongRows(FILE).map((one) => [JSON.stringify(one.args), one] as const))(
    "%s is refused, and told what would do",
    (_, { args, recommended }) => {
      const found = read(args["text"]) as { problems: string[]; instead: string[] };
      expect(found.problems).not.toEqual([]);
      if (Array.isArray(recommended)) expect(found.instead).toEqual(recommended);
    },
  );
});

const LIST = ["DECOMPOSE", "ASSESS", "POLICY_CHECK", "MUTATE", "COMPLETE"];

it.each([
  ["twice the same state", { states: ["ASSESS", "ASSESS"] }, undefined, /ASSESS is listed twice/],
  ["an act before the policy", { states: ["ASSESS", "MUTATE"] }, undefined, /MUTATE needs POLICY_CHECK/],
  ["a computation before the look", { states: ["COMPUTE", "ASSESS"] }, undefined, /in the order/],
  ["high risk without a gate", { states: LIST, risk_level: "high" }, undefined, /needs APPROVAL_GATE right before MUTATE/],
  ["a demanded person without a gate", { states: LIST, risk_level: "low", hitl_required: true }, undefined, /APPROVAL_GATE/],
  ["a tool that cannot be undone without a gate", { states: LIST, risk_level: "low" }, { irreversible: true }, /APPROVAL_GATE/],
  ["a gate for nothing", { states: ["ASSESS", "POLICY_CHECK", "APPROVAL_GATE"] }, undefined, /approves nothing/],
])("refuses %s and names the nearest valid list", (_, given, demands, says) => {
  const found = read(given, demands) as { problems: string[]; instead: Definition["states"] };
  expect(found.problems.join("; ")).toMatch(says);
  expect(read({ ...given, states: found.instead }, demands)).toMatchObject({ definition: { states: found.instead } });
});

it("any text is accepted or refused, and an accepted one is valid; a suggested one is accepted", () => {
  const words = fc.constantFrom(
    "DECOMPOSE",
    "ASSESS",
    "COMPUTE",
    "POLICY_CHECK",
    "APPROVAL_GATE",
    "MUTATE",
    "SCHEDULE_NOTIFY",
    "COMPLETE",
    "ESCALATE",
    "x",
  );
  const object = fc.record(
    {
      states: fc.oneof(fc.array(words), fc.anything()),
      risk_level: fc.constantFrom("low", "high", 3),
      hitl_required: fc.anything(),
      state_instructions: fc.anything(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        object.map((one) => JSON.stringify(one)),
      ),
      (text) => {
        const found = read(text);
        const states = "definition" in found ? found.definition.states : found.instead;
        if ("problems" in found) expect(found.problems).not.toEqual([]);
        if (states !== null)
          expect(
            machineProblems(
              states.map((state) => ({ state, line: "", conditional: false })),
              { gate: false },
            ),
          ).toEqual([]);
      },
    ),
    { numRuns: 1000 },
  );
  expect(read("{".repeat(200_000))).toMatchObject({ instead: null });
});

it("a definition becomes a script's header with the same machine, whatever its lines say", () => {
  const hostile = "look */ throw 1; /* \u202e\u2028: {a: &b} 'x' \"y\" # no\nnext \ud800 `1`";
  const found = read({
    states: ["ASSESS", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE"],
    risk_level: "medium",
    hitl_required: true,
    state_instructions: { ASSESS: hostile, MUTATE: "x".repeat(5000), __proto__: "no", FAILED: "no" },
  }) as { definition: Definition };
  const source = `/*\nname: Proposed\n${definitionHeader(found.definition, "lease_renewal")}\n*/\nctx_log("x");\n`;
  expect(source.indexOf("*/")).toBe(source.lastIndexOf("*/"));
  const header = parseHeader(source, "agents/lease_renewal.ts");
  expect(header).toMatchObject({ process: "lease_renewal", risk: "high" });
  expect(header.machine?.states.map((one) => [one.state, one.line])).toEqual([
    ["DECOMPOSE", ""],
    ["ASSESS", expect.stringMatching(/^look \*\/ throw 1; \/\* : \{a/)],
    ["POLICY_CHECK", ""],
    ["APPROVAL_GATE", ""],
    ["MUTATE", "x".repeat(300)],
    ["COMPLETE", ""],
  ]);
  expect(statesWithoutLine(found.definition)).toEqual(["DECOMPOSE", "POLICY_CHECK", "APPROVAL_GATE", "COMPLETE"]);
});

it.each([
  ["Lease Renewal", "lease_renewal"],
  ["  2nd-level: Größe prüfen!", "nd_level_große_prufen".replace("ß", "_")],
  ["é", null],
  ["1234", null],
  ["a".repeat(500), "a".repeat(41)],
  ["x'); DROP TABLE--", "x_drop_table"],
])("%s is named %s", (text, name) => {
  expect(processName(text)).toBe(name);
  if (name !== null) expect(name).toMatch(/^[a-z][a-z0-9_]{2,40}$/);
});
