/**
 * Histories recorded by each released version of the primitive contract still replay: folder = contract version, one run a file, first
 * line the run with its script, then one step a line.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { primitives } from "../../primitives/index.ts";
import type { Step } from "../../runtime/kernel/ports.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";
import { limitsFor } from "../../runtime/workspace/settings/limits.ts";

const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

interface Recorded {
  id: string;
  file: string;
  source: string;
  input: unknown;
  createdAt: number;
  result: unknown;
}

const histories = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".jsonl"));

test("there are histories to replay", () => expect(histories.length).toBeGreaterThan(0));

test.each(histories)("%s replays to the same result without a single live call", async (file) => {
  const [first = "{}", ...lines] = readFileSync(join(import.meta.dirname, file), "utf8")
    .trim()
    .split("\n");
  const run = JSON.parse(first) as Recorded;
  const steps = lines.map((line) => JSON.parse(line) as Step);
  const { compiled, findings } = await sandbox.compile(run.source, {
    file: run.file,
    blob: file,
    lint: true,
    primitives: primitives.map((one) => one.name),
  });
  expect(findings).toEqual([]);
  if (compiled === null) throw new Error("not compiled");
  const end = await sandbox.execute({
    main: compiled,
    scripts: {},
    primitives: Object.fromEntries(primitives.map((one) => [one.name, one.bare])),
    input: JSON.stringify(run.input),
    seed: run.id,
    startedAt: run.createdAt,
    history: steps,
    limits: limitsFor(parseTrust(""), "any"),
    call: async (call) => {
      throw new Error(`a live call: ${call.name}`);
    },
  });
  expect(end).toMatchObject({ kind: "result", calls: steps.length });
  expect(end.kind === "result" ? JSON.parse(end.json) : null).toEqual(run.result);
});
