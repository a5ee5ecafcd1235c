/** Every vector of the tool modules, and the inputs on which the original was wrong. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { type Exception, exceptions, vectors, type WrongRow, wrongRows } from "../vectors/load.ts";
import { ours, REFERENCE } from "./reference.ts";

const FILES = ["hitl_guard.json", "mutation_verifier.json", "schema_adapter.json", "paginated_tools.json"];

/** Ours answers `ours`, or what is expected but for the names that match `without`. */
type Overruled = Exception & { ours?: Json; without?: string };

const overruled = (file: string, name: string, args: Record<string, Json>): Overruled[] =>
  (exceptions as Overruled[]).filter(
    (one) =>
      one.file === file &&
      one.function === name &&
      one.like !== undefined &&
      Object.entries(one.like).every(([key, pattern]) => new RegExp(pattern).test(JSON.stringify(args[key]))),
  );

/** The verifier says more than "failed", and no repair outlives its call (11.4, R). */
const comparable = (value: Json): Json =>
  JSON.parse(
    JSON.stringify(value, (key, one: Json) =>
      key === "cache" ? undefined : one === "WRITE_FAILED" || one === "MISMATCH" ? "FAILED" : one,
    ),
  );

function agrees(found: Json, expected: Json): boolean {
  if (typeof expected === "number" && typeof found === "number") return Math.abs(found - expected) <= 1e-6;
  if (typeof expected === "string" && /error naming/.test(expected)) return JSON.stringify(found) === '{"refused":"PARAMS_INVALID"}';
  if (typeof expected !== "object" || expected === null || Array.isArray(expected))
    return JSON.stringify(found) === JSON.stringify(expected);
  if (typeof found !== "object" || found === null || Array.isArray(found)) return false;
  const begins = (one: Json | undefined, key: string, value: Json): boolean =>
    key === "reason" ? String(one).startsWith(String(value)) : JSON.stringify(one) === JSON.stringify(value);
  const open = "calls" in expected || "complete" in expected || "statuses" in expected;
  return (
    Object.entries(expected).every(([key, value]) => begins(found[key], key, value)) &&
    (open || Object.keys(found).length === Object.keys(expected).length)
  );
}

function holds(file: string, name: string, args: Record<string, Json>, found: Json, expected: Json): boolean {
  if (agrees(comparable(found), comparable(expected))) return true;
  return overruled(file, name, args).some((one) => {
    if (one.without === undefined) return agrees(found, one.ours ?? null);
    const kept = (found as string[]).filter((each) => !new RegExp(one.without ?? "").test(each));
    return agrees(
      kept,
      (expected as string[]).filter((each) => !new RegExp(one.without ?? "").test(each)),
    );
  });
}

describe.each(FILES)("%s", (file) => {
  it("gives the expected value for each vector, or the one required by a rule", async () => {
    const all = vectors(file).filter((one) => REFERENCE[one.function] !== undefined);
    const wrong: string[] = [];
    for (const { function: name, args, expected } of all) {
      const found = await ours(name, args);
      if (!holds(file, name, args, found, expected)) wrong.push(`${name} ${JSON.stringify({ args, found, expected })}`);
    }
    expect(wrong).toEqual([]);
    expect(all.length).toBeGreaterThan(0);
  });

  it("gives the recommended value where the original was wrong", async () => {
    const wrong: string[] = [];
    for (const { function: name, args, recommended } of wrongRows(file).filter((one: WrongRow) => REFERENCE[one.function] !== undefined)) {
      const found = await ours(name, args);
      if (!holds(`reference_wrong/${file}`, name, args, found, recommended))
        wrong.push(`${name} ${JSON.stringify({ args, found, recommended })}`);
    }
    expect(wrong).toEqual([]);
  });
});
