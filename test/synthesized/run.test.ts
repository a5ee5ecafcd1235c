/** Synthesized tools in runs: what they answer, what a run is pinned to, what a hostile one can do to anybody else, and a kill in the middle. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { type Workspace, abandon, decide, host, removeAll, run, start, workspace } from "../engine/harness.ts";
import { OVERTIME, agentWith, toolWith } from "./tools.ts";

afterAll(removeAll);

const WEEK = `compute_overtime_split({ hours: ["10.4", "10.4", "10.4", "10.4", "10.4"], rate: "28.00" })`;

it("California: 52 hours at 28.00 as five days of 10.4 are 1,624.00, and a replay computes the same", async () => {
  const one = await workspace({ "scripts/tools/overtime_split.ts": OVERTIME, "agents/pay.ts": agentWith(WEEK) });
  const opened = await host(one);
  const done = await run(opened, "pay");
  expect(done).toMatchObject({ error: null, status: "done", result: { result: "1624.00", regular: "1120.00", overtime: "504.00" } });
  const [step] = await opened.engine.steps(done.id);
  expect(step).toMatchObject({ name: "compute_overtime_split", effect: "pure" });
  const api = createApi(opened);
  expect(await api.replay({ run: done.id })).toMatchObject({ same: true, findings: [] });
  expect(await api.call({ calls: [{ name: "compute_overtime_split", params: { hours: [], rate: "1" } }] })).toEqual([
    { result: { result: "0.00", regular: "0.00", overtime: "0.00" } },
  ]);
});

it("a waiting run keeps the tool of its commit; the next run uses the new tool", async () => {
  const body = `/*\nname: Pay\nuses: [compute, approval]\n*/\napproval_wait({ title: "Pay?", calls: [] });\n${WEEK}`;
  const one = await workspace({ "scripts/tools/overtime_split.ts": OVERTIME, "agents/pay.ts": body });
  const opened = await host(one);
  const waiting = await run(opened, "pay");
  expect(waiting).toMatchObject({ status: "waiting", error: null });
  one.commit({
    "scripts/tools/overtime_split.ts": OVERTIME.replaceAll("1624.00", "1960.00").replaceAll("504.00", "840.00").replace('"1.5"', '"2.5"'),
  });
  expect(await decide(opened, waiting.id, "approved")).toMatchObject({ error: null, result: { result: "1624.00" } });
  const next = await run(opened, "pay");
  expect(await decide(opened, next.id, "approved")).toMatchObject({ error: null, result: { result: "1960.00" } });
});

it("a tool with a renamed parameter gets it from a caller that uses the short form, in the child that ran both before", async () => {
  const half = toolWith("half", `({ result: new Decimal(input.x).div(2).toFixed(2) })`, {
    cases: `  - {params: {x: "2.00"}, result: {result: "1.00"}}\n  - {params: {x: "0"}, result: {result: "0.00"}}\n  - {params: {x: "-2.00"}, result: {result: "-1.00"}}`,
  });
  const one = await workspace({
    "scripts/tools/half.ts": half,
    "scripts/tools/share.ts": toolWith("share", "compute_half(input.x)"),
    "agents/pay.ts": agentWith(`compute_share("80")`),
  });
  const opened = await host(one);
  expect(await run(opened, "pay")).toMatchObject({ error: null, result: { result: "40.00" } });
  one.commit({ "scripts/tools/half.ts": half.replace(/\bx(?=:)|(?<=input\.|param: )x\b/g, "amount") });
  expect(await run(opened, "pay")).toMatchObject({ error: null, result: { result: "40.00" } });
});

it("tools that alternate release their memory for each other", async () => {
  const body = `const all: number[][] = [];\nfor (let n = 0; n < 30; n++) all.push(new Array(100_000).fill(n) as number[]);\n({ result: "1.00" })`;
  const names = ["a", "b", "c", "d"].map((letter) => `large_${letter}`);
  const one = await workspace({
    ...Object.fromEntries(names.map((name) => [`scripts/tools/${name}.ts`, toolWith(name, body)])),
    "agents/pay.ts": agentWith(`for (let i = 0; i < 4; i++) { ${names.map((name) => `compute_${name}("1");`).join(" ")} }\n1;`),
  });
  expect(await run(await host(one), "pay")).toMatchObject({ error: null, status: "done" });
});

it("tools call tools and pure functions, even with one slot, and compute_find finds them", async () => {
  const half = toolWith("half", `({ result: new Decimal(input.x).div(2).toFixed(2) })`);
  const quarter = toolWith("quarter_margin", `compute_half({ x: compute_half({ x: input.x }).result })`);
  const share = toolWith("share", `({ result: compute_percent_of({ amount: compute_quarter_margin(input.x).result, pct: "10" }).result })`);
  const trust = (await workspace()).read("trust.yaml");
  const one = await workspace({
    "scripts/tools/half.ts": half,
    "scripts/tools/quarter_margin.ts": quarter,
    "scripts/tools/share.ts": share,
    "trust.yaml": trust.replace(/^( *)slots: \d+/m, "$1slots: 1"),
    "agents/pay.ts": agentWith(`({ share: compute_share("80"), found: compute_find("quarter margin").map((one) => one.name) })`),
  });
  const opened = await host(one);
  const runs = await Promise.all([start(opened, "pay"), start(opened, "pay"), start(opened, "pay")]);
  for (const id of runs)
    expect(await opened.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({
      error: null,
      status: "done",
      result: { share: { result: "2.00" }, found: expect.arrayContaining(["compute_quarter_margin"]) },
    });
});

const HOSTILE: [name: string, body: string, says: RegExp][] = [
  ["loops", "for (;;);", /LIMIT_(?:CPU|WALL)/],
  ["allocates", `const all: string[][] = []; for (;;) all.push(new Array(1e5).fill("x"));`, /LIMIT_MEMORY|SANDBOX_CRASHED|LIMIT_/],
  ["throws", `throw new Error("no");`, /scripts\/tools\/throws\.ts:16:\d+ SCRIPT_ERROR: no/],
  ["throws a code of ours", `throw { code: "OWNER_FENCED", message: "x" };`, /SCRIPT_ERROR/],
  ["answers NaN", "({ result: NaN })", /SCRIPT_RESULT/],
  ["answers a number", "({ result: 1 })", /result: 1 is not an amount as text/],
  ["answers nothing", "const x = 1;", /not what returns: declares/],
  ["answers more", `({ result: "1.00", more: 1 })`, /Unrecognized key|more/],
  ["answers keys of a prototype", `({ result: "1.00", ["__pro" + "to__"]: { x: 1 } })`, /__proto__|Unrecognized|more/],
  ["answers 3 MB", `({ result: "1".repeat(3e6) })`, /LIMIT_BYTES/],
  ["recurses", "const f = (n: number): number => f(n + 1) + 1;\nf(0);", /LIMIT_DEPTH/],
  ["calls itself", `compute_calls_itself({ x: "1" })`, /compute_calls_itself calls itself/],
  ["writes", `data_write("data/x.txt", "x")`, /data_write is not for tools/],
  ["hides a writer in a list", `[data_write][0]("data/x.txt", "x")`, /data_write is not for tools/],
  ["calls without end", `for (;;) compute_percent_of({ amount: "1", pct: "1" });`, /LIMIT_(?:CALLS|CPU)/],
  [
    "leaves something behind",
    `const list = Object.getPrototypeOf([]); list.left = input.x; ({ result: "1.00" })`,
    /getPrototypeOf" is not part of the language/,
  ],
  ["changes Math", `Object.assign(Math, { left: 1 }); ({ result: "1.00" })`, /TypeError|not extensible/],
  [
    "reaches a hidden constructor",
    `const it = [][("val" + "ues") as "values"](); (it as any)[("construc" + "tor")].left = 1; ({ result: "1.00" })`,
    /constructor" is not part of the language/,
  ],
  ["sets the precision", `(Decimal as any).set({ precision: 5 }); ({ result: "1.00" })`, /TypeError|SCRIPT_ERROR/],
];

describe("a hostile tool ends with a code, in time, and affects nobody", () => {
  const nameOf = (what: string) => what.toLowerCase().replaceAll(" ", "_");
  let one: Workspace;
  let opened: Host;
  beforeAll(async () => {
    const bad = HOSTILE.flatMap(([what, body]) => [
      [`scripts/tools/${nameOf(what)}.ts`, toolWith(nameOf(what), body)],
      [`agents/${nameOf(what)}.ts`, agentWith(`compute_${nameOf(what)}({ x: "1.00" })`)],
    ]);
    one = await workspace({ ...Object.fromEntries(bad), "scripts/tools/overtime_split.ts": OVERTIME, "agents/good.ts": agentWith(WEEK) });
    opened = await host(one);
  });
  it.each(HOSTILE)("one that %s", async (what, _, expected) => {
    const bad = await run(opened, nameOf(what));
    expect(bad).toMatchObject({ status: "failed", error: { code: expect.stringMatching(/^(?:COMPUTE_TOOL|SCRIPT_LANGUAGE)$/) } });
    expect(bad.error?.message).toMatch(expected);
    expect(await run(opened, "good")).toMatchObject({ error: null, status: "done", result: { result: "1624.00" } });
    expect(one.git("status", "--porcelain")).toBe("");
  });
});

it("a call sees nothing of the previous one", async () => {
  // Each tries another place where something could stay.
  const body = `const seen = [/(.)/.exec("a") === null, (RegExp as any)["$1"], (RegExp as any).lastMatch, Object.keys(Math).length, [1, 2].length];
const match = /(b+)/.exec(String(input.x).replace(/\\d/g, "b"));
({ result: "1.00", seen: JSON.stringify(seen) + String(match === null) });`;
  const text = toolWith("memory", body, { returns: "  result: {type: money, unit: USD}\n  seen: {type: string}" });
  const one = await workspace({
    "scripts/tools/memory.ts": text,
    "agents/pay.ts": agentWith(`["1.00", "222.00", "3.00"].map((x) => compute_memory({ x }).seen)`),
  });
  const done = await run(await host(one), "pay");
  expect(done.status).toBe("done");
  expect(new Set(done.result as string[]).size).toBe(1);
});

it("killed while a tool computes, the run computes it again and ends the same", async () => {
  const slow = toolWith("slow", `let t = new Decimal(0);\nfor (let i = 0; i < 600; i++) t = t.plus(input.x);\n({ result: t.toFixed(2) })`);
  const one = await workspace({
    "scripts/tools/slow.ts": slow,
    "agents/pay.ts": agentWith(`let last = "";\nfor (let i = 0; i < 40; i++) last = compute_slow({ x: String(i) }).result;\nlast;`),
  });
  const first = await host(one);
  const id = await start(first, "pay");
  await sleep(300);
  await abandon(first);
  const second = await host(one);
  expect(await second.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ error: null, status: "done", result: "23400.00" });
  expect(await second.engine.steps(id)).toHaveLength(40);
});

it("a committed file that is not a tool fails only the runs that call it, by name and place", async () => {
  const one = await workspace({
    "scripts/tools/broken.ts": "1 + 1",
    "agents/calls.ts": agentWith("compute_broken({})"),
    "agents/names.ts": agentWith(
      `// compute_broken is not called here\n(compute_percent_of({ amount: "50", pct: "10" }) as Record<string, unknown>).result`,
    ),
  });
  const opened = await host(one);
  expect(await run(opened, "calls")).toMatchObject({
    status: "failed",
    error: { code: "COMPUTE_TOOL", at: { file: "scripts/tools/broken.ts", line: 1 } },
  });
  expect(await run(opened, "names")).toMatchObject({ error: null, result: "5.00" });
});
