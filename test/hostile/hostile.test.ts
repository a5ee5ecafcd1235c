/** Scripts that escape, loop, allocate, forge the door: each ends as its header says, in time, and the next run in the same pool is right. */
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { patiently } from "../patience.ts";
import { type Expectation, LIMITS, type Outcome, corpus, fits, runScript } from "../sandbox/corpus.ts";

const folder = process.env["HOSTILE_DIR"] ?? fileURLToPath(new URL("scripts", import.meta.url));
const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

// Also shows a poisoned prototype, Decimal or random generator of an earlier run.
const CANARY = `const rows: { a: string }[] = echo([{ a: "1.10" }, { a: "2.20" }]);
const total = rows.map((row) => new Decimal(row.a)).reduce((x, y) => x.plus(y), new Decimal(0));
({ total, text: ["a", "b"].map((x) => x.toUpperCase()).join(), keys: Object.keys({ a: 1 }), poison: "poison" in {}, fixed: (1.5).toFixed(2), max: Math.max(1, 2) })`;
const HEALTHY = { total: "3.3", text: "A,B", keys: ["a"], poison: false, fixed: "1.50", max: 2 };

const endsByTime = ({ code }: Expectation): boolean => [code].flat().every((one) => one === "LIMIT_CPU" || one === "LIMIT_WALL");
const endsBySize = ({ code = "" }: Expectation): boolean => [code].flat().every((one) => /^LIMIT_(?!CPU|WALL)/.test(one));

/** With half the time, a slow machine meets the limit of time before the limit of size a script runs into. */
function metTimeFirst(outcome: Outcome, wanted: Expectation): boolean {
  const limit = [wanted.code ?? ""].flat().some((code) => code.startsWith("LIMIT_"));
  return limit && ["LIMIT_CPU", "LIMIT_WALL"].includes(outcome.code ?? "");
}

describe("hostile scripts", () => {
  for (const { name, source, expect: wanted } of corpus(folder)) {
    test(`${name} ends as its header says`, async () => {
      const file = `agents/${name}`;
      for (const lint of [false, true]) {
        const started = performance.now();
        // What only a limit of time can end need not compute for long; what moves 256 MB to its limit of size takes half the CPU time there is,
        // and more of it where others use the memory as well. The second time with half the limits, which must hold as well.
        const share = endsByTime(wanted) ? 1 / 4 : endsBySize(wanted) && !lint ? 4 : 1;
        const cpu_ms = (share * LIMITS.cpu_ms) / (lint ? 2 : 1);
        const limits = { cpu_ms, wall_ms: cpu_ms + 1500 };
        const outcome = await runScript(sandbox, source, { name: file, lint, limits });
        const ms = performance.now() - started;
        const refused = lint && outcome.end === null;
        if (!refused && !fits(outcome, wanted) && !(lint && metTimeFirst(outcome, wanted)))
          expect({ lint, status: outcome.status, result: outcome.result, end: outcome.end, findings: outcome.findings }).toEqual(wanted);
        expect(ms, `took ${ms} ms`).toBeLessThan(patiently(12_000));
        expect(JSON.stringify(outcome.end)).not.toMatch(/node_modules|runtime[/\\]sandbox|child\.js/);
        const canary = await runScript(sandbox, CANARY, { lint: true });
        expect(canary.result, JSON.stringify(canary.end)).toEqual(HEALTHY);
      }
      // The same blob again meets a fresh context: nothing of the first run is left.
      if (name.startsWith("poison")) {
        const again = await runScript(sandbox, source, { name: file });
        expect(fits(again, wanted)).toBe(true);
      }
    });
  }
});
