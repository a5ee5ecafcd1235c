/**
 * The agents that must survive a stop anywhere, in every mode; and a disk that is full at any of these moments. One of them is stopped at
 * each moment after its gate, the others at every third; all at each with `npm run test:long`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { atOnce, describeAgent, disturbed, prepare, type Scenario, undisturbed } from "../modes.ts";
import { closeAll, decide, host, removeAll, run, workspace } from "./harness.ts";
import { STATEMENT } from "./plugins.ts";

afterEach(closeAll);
afterAll(removeAll);

const statement = { "import/chase.csv": STATEMENT };
const seed = readFileSync(join(import.meta.dirname, "../fixtures/seed-ingest.ts"), "utf8");
const LONG = process.env["CLEARED_LONG"] === "1";
const inDoubt = ["after intent", "before settle"];

describeAgent("ingest on a statement with twins and rows to review", { agent: "ingest", loose: statement, every: 3 });
describeAgent("the seed's ingest, ported", { agent: "seed", files: { "agents/seed.ts": seed }, loose: statement, every: 3 });
describeAgent("a payment whose target knows the key", { agent: "pay", every: 3 });
describeAgent("a payment that can be read back", { agent: "send", from: "gate", every: 3 });
describeAgent("a payment only a person can look up", { agent: "wire", kind: "wire", doubts: inDoubt, from: "gate" });
describeAgent("a payment that is rejected", { agent: "wire", says: "rejected", from: "gate", every: 3 });

test("a disk that fills up at any of these moments stops the run only until there is space", async () => {
  const scenario: Scenario = { agent: "wire", kind: "wire" };
  const prepared = await prepare(scenario);
  const { wanted, points } = await undisturbed(prepared, scenario);
  const chosen = points
    .map((point, at) => ({ point, at }))
    .filter(({ point, at }) => LONG || at % 8 === 0 || /intent|settle|commit/.test(point));
  await atOnce(chosen, async ({ point, at }) => {
    const { found } = await disturbed(prepared, scenario, at, "full");
    expect(found, `full ${point} (${at})`).toEqual(wanted);
  });
});

test("a run that a decision continues before it is tried again after a full disk is executed once", async () => {
  const asks = 'approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "A", amount: "1" } }] });';
  // Its reads take longer together than the time until a failed run is tried again.
  const late = `/*\nname: Late\nuses: [approval, bank]\n*/\n${asks}\nfor (let n = 0; n < 8; n++) bank_slow(150 + n);\n`;
  const one = await workspace({ "agents/late.ts": late });
  const opened = await host(one, { onError: () => undefined });
  const { view } = opened.world;
  // Full just after the run has begun to wait.
  opened.world.view = async (run, log, now) => {
    const { wait } = log;
    log.wait = (...args) => {
      wait.apply(log, args);
      throw new ClearedError("STORE_FULL", "full");
    };
    opened.world.view = view;
    return view(run, log, now);
  };
  const { id } = await run(opened, "late");
  expect(await decide(opened, id, "approved")).toMatchObject({ status: "done" });
  expect(one.bank()).toEqual(Array<string>(8).fill("slow"));
});

test("a run that fails on a full disk is tried again, even if the execution before the decision ends only now", async () => {
  const asks = 'approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "A", amount: "1" } }] });';
  const one = await workspace({
    "agents/soon.ts": `/*\nname: Soon\nuses: [approval, bank]\n*/\n${asks}\nbank_pay({ to: "A", amount: "1" });\n`,
  });
  const opened = await host(one, { onError: () => undefined });
  const { view } = opened.world;
  let executions = 0;
  opened.world.view = async (run, log, now) => {
    const { wait, intent } = log;
    if (++executions === 1)
      log.wait = (...args) => {
        wait.apply(log, args);
        return new Promise((resolve) => setTimeout(resolve, 400)) as never;
      };
    if (executions === 2)
      log.intent = (...args) => {
        intent.apply(log, args);
        throw new ClearedError("STORE_FULL", "full");
      };
    return view(run, log, now);
  };
  const { id } = await run(opened, "soon");
  await decide(opened, id, "approved");
  expect(await opened.engine.result(id, { timeoutMs: 9000 })).toMatchObject({ status: expect.stringMatching(/^(?:done|waiting)$/) });
});
