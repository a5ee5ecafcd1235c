/** All checks of a script together, with the real header parser. */
import { afterAll, expect, it } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { formatFinding } from "./format-finding.ts";
import { checkScript } from "../../runtime/checks/pipeline.ts";
import { inputType } from "../../runtime/checks/script.ts";
import { createRegistry } from "../../runtime/registry.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { parseTrust } from "../../runtime/workspace/config.ts";
import { treeOver } from "../../runtime/workspace/tree-over.ts";

const registry = createRegistry(primitives);
const nothing = { commit: "0".repeat(40), read: async () => null, blob: async () => null, list: async () => [] };
const file = "agents/pay.ts";
const source = `/*
name: Pay
uses: [ctx, jornal]
input: { amount: { type: money, required: true }, note: { type: string } }
*/
ctx_log({ mesage: input.note });
if (input.amount > "10") journal_void({ entry_id: "x", reason: 1 });
input.amont`;

const sandbox = createSandbox({ slots: 1, jit: false });
afterAll(() => sandbox.close());

it("findings of all checks come in source order, each thing once", async () => {
  const found = await checkScript({ tree: treeOver(nothing, new Map([[file, source]])), registry, trust: parseTrust(""), sandbox }, file);
  expect(found.map(formatFinding)).toEqual([
    expect.stringMatching(/^agents\/pay\.ts SCRIPT_CAPABILITY uses: names "jornal", which is no domain\. Did you mean "journal"\?/),
    expect.stringMatching(/^agents\/pay\.ts:6:1 SCRIPT_UNKNOWN_KEY ctx_log has no key "mesage"\. Did you mean "message"\?/),
    expect.stringMatching(/^agents\/pay\.ts:7:5 SCRIPT_MONEY The operator > /),
    expect.stringMatching(/^agents\/pay\.ts:7:26 SCRIPT_CAPABILITY journal_void needs "journal"/),
    expect.stringMatching(/^agents\/pay\.ts:8:7 SCRIPT_TYPES Property 'amont' does not exist/),
  ]);
});

it("the type of input follows the header: required, defaulted, optional, enumerated", () => {
  expect(
    inputType({
      amount: { type: "money", required: true },
      day: { type: "date", default: "2026-11-06" },
      kind: { type: "string", enum: ["a", "b"] },
      rows: { type: "list" },
    }),
  ).toBe('{ amount: Money; day: string; kind?: "a" | "b"; rows?: any[] }');
  expect(inputType({})).toBeUndefined();
});
