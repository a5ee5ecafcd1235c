/** Tricky legal scripts: the lint accepts them, and they give exactly the result of their header, live and on replay. */
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { corpus, runScript } from "../sandbox/corpus.ts";

const folder = process.env["LEGAL_DIR"] ?? fileURLToPath(new URL("scripts", import.meta.url));
const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

describe("legal scripts", () => {
  for (const { name, source, expect: wanted } of corpus(folder)) {
    test(`${name} gives its result live and on replay`, async () => {
      const live = await runScript(sandbox, source, { name: `agents/${name}`, lint: true });
      expect(live.findings).toEqual([]);
      expect(live.result, JSON.stringify(live.end)).toEqual(wanted.result);
      const called: string[] = [];
      const again = await runScript(sandbox, source, {
        name: `agents/${name}`,
        lint: true,
        history: live.history,
        answer: (call) => void called.push(call.name),
      });
      expect(again.result, JSON.stringify(again.end)).toEqual(wanted.result);
      expect(called).toEqual([]);
    });
  }
});
