/** Every vector of the financial calculator and of the 36 tools, and the inputs on which the original was wrong. */
import { describe, expect, it } from "vitest";
import { computePrimitives } from "../../primitives/compute/index.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { exceptions, refusedBy, vectors, wrongRows } from "../vectors/load.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { answer, compute, differences, primitiveFor, scriptName } from "./vectors.ts";

const FILES = ["financial_calculator.json", "reference_tools.json"];

async function refusal(run: () => Promise<unknown>): Promise<string> {
  try {
    return `answered ${JSON.stringify(await run())}`;
  } catch (error) {
    return error instanceof ClearedError ? error.code : String(error);
  }
}

describe.each(FILES)("%s", (file) => {
  const all = vectors(file);

  it("gives the expected value for each vector", async () => {
    const wrong: string[] = [];
    for (const [index, vector] of all.entries()) {
      if (refusedBy(file, vector) !== undefined) continue;
      const expected = vector.expected as { error?: string };
      const found = await refusal(async () => {
        const ours = await answer(vector);
        wrong.push(
          ...(expected?.error === undefined ? differences(ours, vector.expected, vector.tolerance) : ["no error"]).map(
            (one) => `${file}[${index}] ${vector.function}${one}`,
          ),
        );
      });
      if (!found.startsWith("answered") && expected?.error === undefined) wrong.push(`${file}[${index}] ${vector.function}: ${found}`);
      if (expected?.error !== undefined && !/^(COMPUTE_|PARAMS_INVALID|JOURNAL_)/.test(found))
        wrong.push(`${file}[${index}] ${vector.function}: ${found}`);
    }
    expect(wrong).toEqual([]);
    expect(all.length).toBeGreaterThan(0);
  });

  it("refuses the vectors that a rule overrules, with the code in the list of exceptions", async () => {
    for (const vector of all) {
      const exception = refusedBy(file, vector);
      if (exception !== undefined) expect(await refusal(() => answer(vector)), JSON.stringify(vector.args)).toBe(exception.code);
    }
  });
});

it.runIf(process.env["VECTORS_DIR"] === undefined)("each exception names the vector it replaces", () => {
  for (const { file, index, function: name, args } of exceptions) {
    const vector = vectors(file)[index];
    expect(vector?.function).toBe(name);
    if (args !== undefined) expect(vector?.args).toMatchObject(args);
  }
});

it("reports an item that only the new order has as added, where the vectors say modified", async () => {
  const found = await compute("compute_net_price_delta", { original_items: [], modified_items: [{ id: "N", price: "42.00" }] });
  expect(found).toMatchObject({ breakdown: [{ id: "N", action: "added", original: "0.00", new: "42.00", delta: "42.00" }] });
});

it("a figure given as approximate is checked, not skipped", async () => {
  const args = { s0: 100, mu: 0.05, sigma: 0.2, T: 1, n_paths: 10_000, n_steps: 252, seed: 1 };
  const ours = await answer({ function: "finance_monte_carlo", args });
  const off = (expected: Json): number => differences(ours, expected, 1e-6).length;
  for (const close of [105.127, [105.127, 0.8], [104.3, 105.9], { value: 105.127, tolerance: 0.8 }])
    expect(off({ mean_close_to: close })).toBe(0);
  for (const far of [107, [107, 0.8], [106, 107], { value: 107, tolerance: 0.8 }]) expect(off({ mean_close_to: far })).toBe(1);
  expect(off({ median_close_to: 100, std_close_to: [21.5, 1] })).toBe(1);
});

it("gives the recommended value where the original was wrong", async () => {
  const wrong: string[] = [];
  for (const [index, row] of wrongRows("financial_calculator.json").entries()) {
    const recommended = row.recommended;
    const found = await refusal(async () => {
      const ours = await answer(row);
      if (typeof recommended === "string" && recommended.startsWith("ERROR")) wrong.push(`[${index}] ${row.function}: no error`);
      else wrong.push(...differences(ours, recommended, undefined).map((one) => `[${index}] ${row.function}${one}`));
    });
    if (!found.startsWith("answered") && !(typeof recommended === "string" && recommended.startsWith("ERROR")))
      wrong.push(`[${index}] ${row.function}: ${found}`);
  }
  expect(wrong).toEqual([]);
});

it("every function of the vectors has its primitive, and every such primitive has vectors", () => {
  const named = new Set(FILES.flatMap((file) => vectors(file).map((one) => one.function)));
  for (const name of named) expect(primitiveFor(name).effect).toBe("pure");
  const scripts = new Set([...named].map(scriptName));
  expect(computePrimitives.map(({ name }) => name).filter((name) => !scripts.has(name))).toEqual([
    "compute_percent_of",
    "compute_fx_convert",
    "compute_tax_bands",
    "compute_risk_ahp",
  ]);
});
