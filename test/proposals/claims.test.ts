/** What a proposer says of a change names what it says and nothing beside: not another key, not a line that is gone, not an order. */
import { afterAll, expect, test } from "vitest";
import type { Claim } from "../../runtime/change/proposal-types.ts";
import { claimsLooked } from "../../runtime/change/proposals/claims.ts";
import { around, between, closeSandbox, FILES } from "./rewrites.ts";
import { memoryTree } from "../workspace/memory-tree.ts";

afterAll(closeSandbox);

const NOTHING_ELSE: Claim = { kind: "nothing_else", subject: "" };
async function looked(path: string, was: string, now: string, ...claims: Claim[]) {
  const [base, tree] = [was, now].map((text) => new Map([...FILES, [path, text]])) as [Map<string, string>, Map<string, string>];
  const judged = { base: memoryTree(base), tree: memoryTree(tree), paths: [path], changed: await between(base, tree), backtests: [] };
  const asked = { request: 1, model: "fake/hand", says: "", outside: [], claims };
  const { says, findings } = await claimsLooked(asked, { ...judged, mended: [] }, around);
  return { says, told: findings.map(({ code, message }) => `${code}: ${message}`) };
}
const BANK = "importers/bank.yaml";
const LOOK = "agents/look.ts";
const look = (body: string) => `/*\nname: Look\nuses: [journal]\nmutates: false\n*/\n${body}`;
const set = (subject: string, from?: string, to?: string): Claim => ({
  ...{ kind: "threshold", subject },
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
});

// biome-ignore format: one row, one change
const HIDDEN: [string, path: string, was: string, now: string, Claim[], RegExp][] = [
  ["a deletion beside a new line", BANK, "a: 1\nb: 2\nc: 3\n", "a: 5\na2: 3\nc: 3\n", [set("a", "1", "5"), set("a2", undefined, "3")], /b: 2 -> nothing/],
  ["a deletion of a comment beside a new line", BANK, "a: 1\n# b\nc: 3\n", "a: 5\na2: 3\nc: 3\n", [set("a", "1", "5"), set("a2", undefined, "3")], /1 changed line/],
  ["a key of the same last word", BANK, "a:\n  format: plus\nb:\n  format: plus\n", "a:\n  format: minus\nb:\n  format: minus\n", [set("a.format", "plus", "minus")], /b\.format|format: plus -> minus/],
  ["a last word for two keys", BANK, "a:\n  format: plus\nb:\n  format: plus\n", "a:\n  format: minus\nb:\n  format: minus\n", [set("format", "plus", "minus")], /format: plus -> minus/],
  ["another order of steps", LOOK, look("let n = 5;\nn = n + 2;\nn = n * 3;\nn;\n"), look("let n = 6;\nn = n * 3;\nn = n + 2;\nn;\n"), [set("n", "5", "6")], /changed lines? /],
  ["two values on one line", LOOK, look("const it = { low: 5, high: 7 };\nit;\n"), look("const it = { low: 6, high: 8 };\nit;\n"), [set("low", "5", "6")], /high: 7 -> 8/],
  ["a file for a key", BANK, "a: 1\nb: 1\n", "a: 2\nb: 2\n", [set("bank")], /b: 1 -> 2/],
];
test.each(HIDDEN)("%s is not hidden behind true claims", async (_, path, was, now, claims, what) => {
  const { says, told } = await looked(path, was, now, ...claims, NOTHING_ELSE);
  expect(says).not.toMatch(/no line changed beside (?:it|them)$/);
  expect(told.filter((one) => one.includes("nothing_else")).join("\n")).toMatch(what);
});

// biome-ignore format: one row, one change
const WHOLE: [string, path: string, was: string, now: string, Claim[]][] = [
  ["keys of one word", BANK, "a:\n  format: plus\nb:\n  format: plus\n", "a:\n  format: minus\nb:\n  format: minus\n", [set("a.format", "plus", "minus"), set("b.format", "plus", "minus")]],
  ["a key that is gone", BANK, "a: 1\nb: 2\nc: 3\n", "a: 5\nc: 3\n", [set("a", "1", "5"), set("b", "2")]],
  ["a map of several lines", BANK, "rules:\n  - id: Y\n    level: low\n", "rules:\n  - id: Y\n    level: low\n  - id: X\n    level: high\n", [{ kind: "rule", subject: "X", to: "high" }]],
  ["values on one line", LOOK, look("const it = { low: 5, high: 7 };\nit;\n"), look("const it = { low: 6, high: 8 };\nit;\n"), [set("low", "5", "6"), set("high", "7", "8")]],
];
test.each(WHOLE)("%s, each claimed, are the whole change", async (_, path, was, now, claims) => {
  const { says, told } = await looked(path, was, now, ...claims, NOTHING_ELSE);
  expect(told.filter((one) => !one.startsWith("CLAIM_MISSING"))).toEqual([]);
  expect(says).toMatch(/no line changed beside (?:it|them)$/);
});

test("a claim names a widening by its values, old and new", async () => {
  const config = FILES.get("config.yaml") ?? "";
  const [was, now] = ["1000.00", "5000.00"].map((limit) => config.replace("settings: {}", `settings: {limit: "${limit}"}`)) as [
    string,
    string,
  ];
  const told = async (from: string | undefined, to: string) =>
    (await looked("config.yaml", was, now, { ...set("config.yaml", from, to), kind: "setting" })).told;
  expect(await told("1000.00", "5000.00")).toEqual([]);
  expect((await told("5000.00", "1000.00"))[0]).toMatch(/CLAIM_WRONG/);
  expect((await told(undefined, "1000.00"))[0]).toMatch(/CLAIM_WRONG/);
  for (const word of ["goes", "instead", "more"]) expect((await told(undefined, word))[0]).toMatch(/CLAIM_WRONG/);
});

test("a claim without a subject says nothing, and a repeated one counts once", async () => {
  const [was, now] = [look('const it = [{ text: "", n: 1 }];\nit;\n'), look('const it = [{ text: "", n: 2 }];\nit;\n')];
  expect((await looked(LOOK, was, now, { kind: "rule", subject: " " })).told[0]).toMatch(/CLAIM_WRONG/);
  const twice = await looked(BANK, "a: 1\n", "a: 2\n", set("a", "1", "2"), set("bank.a", "1", "2"));
  expect(twice.says).toMatch(/^1 claim, 1 true/);
});
