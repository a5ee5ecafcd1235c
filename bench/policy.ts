/**
 * How many times a second the host evaluates a policy of ten rules, as policy_evaluate does: the pack taken from the run's commit by its
 * blob, every rule on the facts, hashes included; with and without a JSON document given with the run.
 */
import { loadavg } from "node:os";
import { parseConfig } from "../runtime/workspace/settings/config.ts";
import { createPolicies } from "../runtime/workspace/settings/policies.ts";
import { median, spread } from "./measure.ts";

const COUNT = 50_000;
const ROUNDS = 9;
const TARGET = 100_000;

const rules = Array.from(
  { length: 10 },
  (_, n) =>
    `  - {id: R${n}, when: "amount > ${(n + 1) * 1000} && status != closed || hold && due < 2026-01-${n + 10}", action: require_approval, level: manager, description: rule ${n}}`,
);
const pack = `process: bench\nsource: bench\nfacts: {amount: money, status: text, hold: boolean, due: date}\nrules:\n${rules.join("\n")}\n`;
const base = { commit: "0".repeat(40), read: async () => pack, blob: async () => "b", list: async () => [] };
const config = parseConfig("business: {name: Bench}");
const given = JSON.stringify({ rules: [{ id: "G", condition: "amount > limit", action: "block" }], context: { limit: 9000 } });
const cases = [
  { name: "10 rules, none applies", policies: createPolicies({ base, config }), amount: "999.99", speeds: [] as number[] },
  { name: "10 rules, five apply", policies: createPolicies({ base, config }), amount: "5000.01", speeds: [] as number[] },
  { name: "10 rules and one given", policies: createPolicies({ base, config, given }), amount: "999.99", speeds: [] as number[] },
];
for (let round = 0; round < ROUNDS + 1; round++) {
  for (const { policies, amount, speeds } of cases) {
    const started = performance.now();
    for (let n = 0; n < COUNT; n++) await policies.evaluate("bench", { amount, status: "open", hold: false, due: "2026-02-01", n });
    // The first round warms the code.
    if (round > 0) speeds.push((COUNT * 1000) / (performance.now() - started));
  }
}
for (const { name, speeds } of cases)
  console.log(`policy, ${name}: median ${median(speeds).toFixed(0)}/s, ${spread(speeds, 0)} (target ${TARGET})`);
console.log(
  `load ${loadavg()
    .map((value) => value.toFixed(1))
    .join(" ")}`,
);
