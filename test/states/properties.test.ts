/** Worker.md 35.7: whatever a script asks for, in whatever order, the machine keeps the policy and the people in between. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { ORDER, type State, type VerdictWord } from "../../runtime/kernel/ports.ts";
import {
  entered,
  gateDemanded,
  judged,
  type Machine,
  machineOf,
  machineProblems,
  move,
  type ProcessState,
  STATES,
  startOf,
} from "../../runtime/kernel/states.ts";
import { TEMPLATES } from "./templates.ts";
import { verdictOf } from "./verdicts.ts";

type Op = { enter: State } | { verdict: VerdictWord } | { decide: "approved" | "rejected" } | { resolve: "APPROVAL_GATE" | "FAILED" };

const machines: fc.Arbitrary<Machine> = fc.oneof(
  fc.constantFrom(...[...TEMPLATES.values()].map((one) => one.machine)),
  fc
    .tuple(fc.subarray([...ORDER]), fc.boolean())
    .map(([states, optional]) => states.map((state) => ({ state, line: "", conditional: optional && state === "APPROVAL_GATE" })))
    .filter((states) => machineProblems(states, { gate: false }).length === 0)
    .map(machineOf),
);
const words = fc.constantFrom<VerdictWord>("pass", "pass", "pass", "inform", "require_approval", "require_approval", "escalate", "block");
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...ORDER, "ESCALATE" as const).map((enter) => ({ enter })) },
  { weight: 4, arbitrary: words.map((verdict) => ({ verdict })) },
  { weight: 4, arbitrary: fc.constantFrom("approved" as const, "approved" as const, "rejected" as const).map((decide) => ({ decide })) },
  { weight: 1, arbitrary: fc.constantFrom("APPROVAL_GATE" as const, "FAILED" as const).map((resolve) => ({ resolve })) },
);
/** Walks that mostly go on along the list, so that deep states are reached, and often come back to the gate. */
const onward = fc.constantFrom<Op | "next">(
  "next",
  "next",
  { verdict: "pass" },
  { decide: "approved" },
  { enter: "APPROVAL_GATE" },
  { enter: "MUTATE" },
);
const walks = fc.tuple(machines, fc.array(fc.oneof(onward, op), { minLength: 8, maxLength: 40, size: "max" }));

interface Seen {
  /** Words of all verdicts, and approvals given, so far. */
  words: VerdictWord[];
  yeses: number;
  /** Whether the gate last entered got its own yes. */
  gateYes: boolean;
  onMutate(process: ProcessState, from: State): void;
}

/** Does what the engine does with an op; ops it would refuse by state (policy_evaluate outside POLICY_CHECK) are dropped. */
function act(process: ProcessState, given: Op | "next", seen: Seen): void {
  const at = process.machine.states.findIndex((one) => one.state === process.current);
  const one: Op = given === "next" ? { enter: process.machine.states[at + 1]?.state ?? "COMPLETE" } : given;
  if ("verdict" in one) {
    if (process.current !== "POLICY_CHECK") return;
    judged(process, verdictOf(one.verdict));
    seen.words.push(one.verdict);
  } else if ("decide" in one) {
    if (process.current !== "APPROVAL_GATE" || process.answered !== null) return;
    process.answered = one.decide;
    seen.yeses += one.decide === "approved" ? 1 : 0;
    seen.gateYes = one.decide === "approved";
  } else if ("resolve" in one) {
    if (process.current !== "ESCALATE") return;
    if (one.resolve === "APPROVAL_GATE") seen.gateYes = false;
    entered(process, one.resolve);
  } else {
    const from = process.current;
    const answer = move(process, one.enter);
    // In ESCALATE it is the person's turn (`resolve`); elsewhere the run waits there.
    if (answer === "escalate") {
      if (from !== "ESCALATE") entered(process, "ESCALATE");
      return;
    }
    if (answer !== "enter") {
      if (!(answer instanceof Error)) entered(process, "FAILED");
      return;
    }
    if (one.enter === "MUTATE") seen.onMutate(process, from);
    if (one.enter === "APPROVAL_GATE") seen.gateYes = false;
    entered(process, one.enter);
  }
}

function play(
  [machine, ops]: [Machine, (Op | "next")[]],
  onMutate: (process: ProcessState, from: State, seen: Seen) => void,
): ProcessState {
  const process = startOf(machine);
  const seen: Seen = { words: [], yeses: 0, gateYes: false, onMutate: (at, from) => onMutate(at, from, seen) };
  for (const one of ops) {
    const { current } = process;
    act(process, one, seen);
    if (current === "COMPLETE" || current === "FAILED") expect(process.current).toBe(current);
  }
  return process;
}

const RUNS = { numRuns: 2000 };

it("MUTATE is reached only after POLICY_CHECK's verdict, and with an approval at its own gate wherever one is required", () => {
  let reached = 0;
  fc.assert(
    fc.property(walks, (walk) => {
      play(walk, (process, from, seen) => {
        reached++;
        expect([...process.before, from]).toContain("POLICY_CHECK");
        expect(seen.words.length).toBeGreaterThan(0);
        expect(seen.words).not.toContain("block");
        expect(["POLICY_CHECK", "APPROVAL_GATE"]).toContain(from);
        const fixed = process.machine.states.some((one) => one.state === "APPROVAL_GATE" && !one.conditional);
        const asked = seen.words.some((word) => word === "require_approval" || word === "escalate");
        expect(gateDemanded(process)).toBe(fixed || asked || process.gates > 1);
        if (fixed || asked) expect(from).toBe("APPROVAL_GATE");
        if (from === "APPROVAL_GATE" && gateDemanded(process)) expect(seen.gateYes).toBe(true);
        // A no counts even where nobody had to be asked.
        if (from === "APPROVAL_GATE") expect(process.answered).not.toBe("rejected");
        if (seen.words.includes("escalate")) expect(process.escalated).toBe(true);
      });
    }),
    RUNS,
  );
  // A property over walks that never arrive would say nothing.
  expect(reached).toBeGreaterThan(100);
});

it("reopening the gate n times needs n more approvals", () => {
  fc.assert(
    fc.property(walks, (walk) => {
      let entries = 0;
      play(walk, (_, from, seen) => {
        if (from === "APPROVAL_GATE") entries++;
        // The first pass of a conditional gate after a pass needs no yes; every later one needs its own.
        expect(seen.yeses).toBeGreaterThanOrEqual(entries - 1);
      });
    }),
    RUNS,
  );
  const process = startOf(TEMPLATES.get("subscription_migration")!.machine);
  for (const state of ["ASSESS", "COMPUTE", "POLICY_CHECK"] as const) entered(process, state);
  judged(process, verdictOf("pass"));
  for (let gate = 1; gate <= 5; gate++) {
    expect(move(process, "APPROVAL_GATE")).toBe("enter");
    entered(process, "APPROVAL_GATE");
    expect(move(process, "MUTATE")).toMatchObject({ code: "FSM_GATE" });
    process.answered = "approved";
    expect(move(process, "MUTATE")).toBe("enter");
    entered(process, "MUTATE");
  }
  expect(process.gates).toBe(5);
});

it("the same requests give the same states", () => {
  fc.assert(
    fc.property(walks, (walk) => {
      const [first, second] = [play(walk, () => {}), play(walk, () => {})];
      expect(second).toEqual(first);
    }),
    { numRuns: 300 },
  );
});

it("FAILED and COMPLETE are final", () => {
  for (const end of ["FAILED", "COMPLETE"] as const) {
    const process = startOf(TEMPLATES.get("payroll")!.machine);
    entered(process, end);
    for (const to of STATES) expect(move(process, to)).toMatchObject({ code: "FSM_EDGE" });
  }
});
