/** The check "tools": what makes a tool one, each broken promise with its place, and nothing said about a good one. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { lookAtTools } from "../../runtime/change/checks/tools.ts";
import { STATIC_CHECKS, runChecks } from "../../runtime/change/checks/pipeline.ts";
import { subjectOf } from "../../runtime/app/check-api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { treeOver } from "../../runtime/workspace/git/tree.ts";
import { type Workspace, host, removeAll, workspace } from "../engine/harness.ts";
import { OVERTIME, agentWith, toolWith } from "./tools.ts";

const MONEY = "({ result: new Decimal(input.x).toFixed(2) })";
let one: Workspace;
let opened: Host;

beforeAll(async () => {
  one = await workspace({
    "scripts/tools/overtime_split.ts": OVERTIME,
    "scripts/tools/same.ts": toolWith("same", MONEY),
    "agents/pay.ts": agentWith(`const x = 1;\ncompute_overtime_split({ hours: [], rate: "1.00" })`),
  });
  opened = await host(one);
});
afterAll(removeAll);

/** HEAD with these files laid over it, to be checked. */
async function over(files: Record<string, string | null>) {
  const base = opened.git.tree(await opened.git.head());
  return subjectOf(opened, base, treeOver(base, new Map(Object.entries(files))), Object.keys(files));
}
/** What the check says about these files laid over HEAD. */
async function look(files: Record<string, string | null>) {
  const subject = await over(files);
  const { says, findings } = await lookAtTools(subject);
  return { says, findings: findings.map(({ code, at, message }) => `${at.file}:${at.line ?? "-"} ${code} ${message}`) };
}
const about = async (text: string, name = "t") => (await look({ [`scripts/tools/${name}.ts`]: text })).findings;

it("has no finding about a good tool", async () => {
  expect(await look({ "scripts/tools/overtime_split.ts": `${OVERTIME}\n` })).toEqual({ says: "1 tool, cases 5/5", findings: [] });
});

it.each([
  [
    "a wrong case",
    OVERTIME.replace('"1624.00"', '"1568.00"'),
    "overtime_split",
    [/:18 COMPUTE_TOOL cases\[0\]: result is "1624\.00", and the case says "1568\.00"$/],
  ],
  [
    "too few cases",
    toolWith("t", MONEY, { cases: `  - {params: {x: "0"}, result: {result: "0.00"}}` }),
    "t",
    [/:8 COMPUTE_TOOL cases: needs at least three$/],
  ],
  ["no property", toolWith("t", MONEY).replace(/ {2}- zero.*/, "  []"), "t", [/COMPUTE_TOOL properties: needs at least one$/]],
  [
    "lists that no input could be made of",
    toolWith("t", MONEY, {
      params: "  x: {type: list, of: {type: list, of: {type: string}, min: 2000000}, min: 3}",
      properties: "  - nonnegative: result",
    }),
    "t",
    [/:5 COMPUTE_TOOL params\.x\.of\.min: requires more than 1000 values in total/],
  ],
  [
    "a figure without unit",
    toolWith("t", MONEY, { params: "  x: {type: money, required: true}" }),
    "t",
    [/:5 COMPUTE_TOOL params\.x\.unit: is missing/],
  ],
  [
    "an unknown key",
    toolWith("t", MONEY).replace("source:", "sauce: x\nsource:"),
    "t",
    [/COMPUTE_TOOL Unknown key "sauce"\. Did you mean "source"\?/],
  ],
  ["another name than its file", toolWith("u", MONEY), "t", [/:2 COMPUTE_TOOL tool: "u" is not the name of its file, "t"/]],
  ["the name of a primitive", toolWith("hr_overtime", MONEY), "hr_overtime", [/COMPUTE_TOOL compute_hr_overtime is a primitive already/]],
  [
    "a property of an unknown parameter",
    toolWith("t", MONEY, { properties: "  - zero: {param: xx, result: result}" }),
    "t",
    [/COMPUTE_TOOL properties\.0: "xx" is not a figure it takes\. Did you mean "x"\?/],
  ],
  ["a call of a writer", toolWith("t", `data_write("data/x", "1");\n${MONEY}`), "t", [/:16 COMPUTE_TOOL data_write is not for tools/]],
  ["a writer under another name", toolWith("t", `const f = data_write;\n${MONEY}`), "t", [/COMPUTE_TOOL data_write is not for tools/]],
  ["another script", toolWith("t", `script_run("vendor_of", {});\n${MONEY}`), "t", [/COMPUTE_TOOL script_run is not for tools/]],
  ["the clock", toolWith("t", `ctx_today();\n${MONEY}`), "t", [/COMPUTE_TOOL ctx_today is not for tools/]],
  [
    "chance",
    toolWith("t", `const r = Math.random();\n${MONEY}`),
    "t",
    [/cases\[0\].*Math\.random is not for tools/, /cases\[1\]/, /cases\[2\]/],
  ],
  [
    "a number for money",
    toolWith("t", "({ result: Number(input.x) })"),
    "t",
    [/cases\[0\].*result: 1 is not an amount as text/, /cases\[1\]/, /cases\[2\]/],
  ],
  ["a type error", toolWith("t", `const n: number = "x";\n${MONEY}`), "t", [/:16 SCRIPT_TYPES/]],
  ["an operator on money", toolWith("t", `const n = input.x > "3";\n${MONEY}`), "t", [/:16 SCRIPT_MONEY/]],
  [
    "no case below zero",
    toolWith("t", MONEY, {
      cases: ['"1.00"', '"0"', '"2.00"']
        .map((x) => `  - {params: {x: ${x}}, result: {result: "${Number(x.slice(1, -1)).toFixed(2)}"}}`)
        .join("\n"),
    }),
    "t",
    [/params: allows a figure below zero, and no case tries it/],
  ],
  [
    "a property that does not hold",
    toolWith("t", MONEY, { properties: "  - nonnegative: result" }),
    "t",
    [/properties\[0\] \(nonnegative\) does not hold: with \{"x":"-/],
  ],
  [
    "what only other inputs show",
    toolWith("t", `({ result: new Decimal(input.x).gt(500) ? "0.00" : new Decimal(input.x).toFixed(2) })`, {
      properties: "  - monotone: {param: x, result: result}",
    }),
    "t",
    [/properties\[0\] \(monotone\) does not hold: .*: it falls/],
  ],
  [
    "an unknown code in a case",
    toolWith("t", MONEY).replace('result: {result: "1.00"}', "error: COMPUTE_RANG"),
    "t",
    [/"COMPUTE_RANG" is not an error code\. Did you mean "COMPUTE_RANGE"\?/],
  ],
  ["no header", MONEY, "t", [/:1 COMPUTE_TOOL .*There is no header comment/]],
])("finds %s", async (_, text, name, expected) => {
  const found = await about(text, name);
  expect(found.length).toBe(expected.length);
  for (const [i, pattern] of expected.entries()) expect(found[i]).toMatch(pattern);
});

it("a tool that scripts call cannot be removed", async () => {
  expect((await look({ "scripts/tools/overtime_split.ts": null })).findings).toEqual([
    "agents/pay.ts:6 COMPUTE_TOOL compute_overtime_split is called here, and its file is removed. Keep the tool, or change this script in the same proposal.",
  ]);
  expect((await look({ "scripts/tools/same.ts": null })).findings).toEqual([]);
});

it("tools that call each other in a circle are refused, and the callers of a changed tool are tried again", async () => {
  const circle = { "scripts/tools/a.ts": toolWith("a", "compute_b(input)"), "scripts/tools/b.ts": toolWith("b", "compute_a(input)") };
  expect((await look(circle)).findings).toEqual([
    expect.stringMatching(/b\.ts:16 COMPUTE_TOOL .*compute_a calls itself: compute_a -> compute_b -> compute_a/),
    expect.stringMatching(/a\.ts:16 COMPUTE_TOOL .*compute_b calls itself: compute_b -> compute_a -> compute_b/),
  ]);
  const caller = { "scripts/tools/caller.ts": toolWith("caller", `({ result: compute_same({ x: input.x }).result })`) };
  one.commit(caller);
  const { says, findings } = await look({
    "scripts/tools/same.ts": toolWith("same", `({ result: new Decimal(input.x).times(2).toFixed(2) })`),
  });
  expect(says).toBe("2 tools, cases 2/6");
  expect(findings.filter((line) => line.includes("caller.ts"))).toHaveLength(2);
});

it("the callers of a tool whose parameters change are checked with it", async () => {
  const subject = await over({ "scripts/tools/overtime_split.ts": OVERTIME.replaceAll("rate", "wage") });
  const results = await runChecks(subject, STATIC_CHECKS);
  const found = results.flatMap(({ findings }) => findings.map(({ at, code }) => `${at.file}:${at.line} ${code}`));
  expect(found).toContain("agents/pay.ts:6 SCRIPT_UNKNOWN_KEY");
});
