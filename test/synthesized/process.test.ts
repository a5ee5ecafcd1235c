/** A definition becomes a process that passes every check as it is, and a wrong one is refused with all that is wrong with it. */
import { afterAll, expect, it } from "vitest";
import { checkFiles } from "../../runtime/app/check-api.ts";
import { parseDefinition } from "../../runtime/rules/definition.ts";
import { newProcess } from "../../runtime/change/proposals/new-process.ts";
import { decide, host, removeAll, run, workspace } from "../engine/harness.ts";
import { vectors } from "../vectors/load.ts";

afterAll(removeAll);

const ALL = ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY", "COMPLETE"];
// biome-ignore lint/suspicious/noTemplateCurlyInString: what a hostile line may hold.
const NASTY = 'it is "done" */ ${x} `y` \u202e: {a: [b]} # no\nsecond line';
const text = (states: string[], more: object = {}) =>
  JSON.stringify({
    states,
    risk_level: "low",
    ...more,
    state_instructions: Object.fromEntries(ALL.map((state) => [state, `${state}: ${NASTY}`])),
  });

it("each machine passes the checks and runs to its end", async () => {
  const machines = [
    ALL,
    ["ASSESS"],
    ["ASSESS", "COMPUTE"],
    ["ASSESS", "POLICY_CHECK", "MUTATE"],
    ["SCHEDULE_NOTIFY"],
    ["ASSESS", "POLICY_CHECK"],
  ];
  const files = machines.map((states, i) => newProcess(`process_${i}`, text(states), "d.json"));
  const one = await workspace();
  const opened = await host(one);
  const checked = await checkFiles(opened, { files: Object.assign({}, ...files), all: false });
  expect(checked.checks.flatMap(({ check, findings }) => findings.map(({ message }) => `${check}: ${message}`))).toEqual([]);
  expect(checked.agents).toHaveLength(machines.length);
  one.commit(Object.assign({}, ...files));
  for (const i of machines.keys()) {
    let ended = await run(opened, `process_${i}`, { subject_id: "CASE-1" });
    if (ended.status === "waiting") ended = await decide(opened, ended.id, "approved");
    expect(ended).toMatchObject({ error: null, status: "done", outcome: "completed", result: { key_entity: "CASE-1" } });
  }
});

it("a wrong definition is refused with all its errors", () => {
  expect(() => newProcess("other", text(["MUTATE", "COMPUTE", "COMPUTE"], { risk_level: "high" }), "d.json")).toThrow(
    /^d\.json: COMPUTE is listed twice; .*MUTATE needs POLICY_CHECK before it; .*needs APPROVAL_GATE right before MUTATE\. These states would do: DECOMPOSE, ASSESS/,
  );
  expect(() => newProcess("other", JSON.stringify({ states: ["COMPUTE", "POLICY_CHECK"] }), "d.json")).toThrow(
    /state_instructions has no line for COMPUTE, POLICY_CHECK; COMPUTE needs ASSESS before it/,
  );
  expect(() => newProcess("other", "not json", "d.json")).toThrow(/no JSON object with states/);
});

it("definitions refused by the vectors make no files", () => {
  for (const { function: name, args } of vectors("dynamic_fsm.json")) {
    if (name === "fallback_definition" || !("problems" in parseDefinition(String(args["text"])))) continue;
    expect(() => newProcess("other", String(args["text"]), "d.json")).toThrow();
  }
});
