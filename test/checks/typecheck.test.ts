/** Types of agent scripts by the real compiler, with the real typings. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { formatFinding } from "./format-finding.ts";
import { typecheck } from "../../runtime/change/checks/typecheck.ts";
import { writeTypes } from "../../runtime/change/checks/write-types.ts";
import { primitiveTypes } from "../../runtime/kernel/derive.ts";

const types = primitiveTypes(primitives);
const check = async (...sources: string[]) =>
  (
    await typecheck(
      sources.map((source, i) => ({ file: `agents/${i}.ts`, source })),
      types,
    )
  ).map(formatFinding);
const rows = `const rows = importer_parse("a.csv");\nconst [row] = rows;\nif (!row) return null;\nconst total = new Decimal(row.amount);\n`;

describe("money", () => {
  it.each([
    ['row.amount < "0"', "5:1", "lt"],
    ["row.amount >= row.amount", "5:1", "gte"],
    ["row.amount * 2", "5:1", "times"],
    ["row.amount - row.amount", "5:1", "minus"],
    ["row.amount + row.amount", "5:1", "plus"],
    ["row.amount + 1", "5:1", "plus"],
    ['row.amount === "0.00"', "5:1", "eq"],
    ["row.balance !== row.amount", "5:1", "eq"],
    ["total == 0", "5:1", "eq"],
    ["1 > total", "5:1", "gt"],
    ["total / 2", "5:1", "div"],
    ['"Sum " + total', "5:1", "plus"],
    ["-row.amount", "5:1", "neg"],
    ["rows.filter((one) => one.amount > config_get('x'))", "5:22", "gt"],
    ["let s = row.amount; s += row.amount", "5:21", "plus"],
  ])("%s is refused with the method to use", async (expression, at, method) => {
    const found = await check(`${rows}${expression};`);
    expect(found.filter((line) => line.includes("SCRIPT_MONEY"))).toEqual([
      expect.stringMatching(new RegExp(`^agents/0\\.ts:${at} SCRIPT_MONEY .*\\.${method}\\(`)),
    ]);
  });

  it.each([
    '"Paid " + row.amount',
    `\`\${row.amount} \${total}\``,
    "row.balance === undefined",
    "row.balance != null && row.balance",
    'row.amount.startsWith("-") ? row.amount.slice(1) : row.amount',
    "total.plus(row.amount).lt(0)",
    "rows.length * 2 > 3",
    'row.description === "x" || row.description < "y"',
    "config_get('a') > 1",
  ])("%s is accepted", async (expression) => {
    expect(await check(`${rows}${expression};`)).toEqual([]);
  });

  it("an amount may be Money, one of its parts, a Decimal or text; not a number or arbitrary text", async () => {
    const add = (amount: string) =>
      `journal_add_double({ date: row.date, description: "", debit_account: 5020, credit_account: row.account, amount: ${amount}, reference: row.reference });`;
    expect(
      await check(
        ...["row.amount", "row.amount.slice(1)", "total.abs()", '"42.99"', "total.toFixed(2)"].map((amount) => rows + add(amount)),
      ),
    ).toEqual([]);
    expect(await check(rows + add("4"), rows + add("row.description"))).toEqual([
      expect.stringMatching(
        /^agents\/0\.ts:5:\d+ SCRIPT_TYPES Type 'number' is not assignable to type 'MoneyInput'\. Pass an amount of a row/,
      ),
      expect.stringMatching(/^agents\/1\.ts:5:\d+ SCRIPT_TYPES Type 'string'/),
    ]);
  });
});

it("positions are right on every line, including the first, and after characters of two code units", async () => {
  expect(await check("const x: number = ctx_today();\n/* 😀é */ const y: number = ctx_today();")).toEqual([
    expect.stringMatching(/^agents\/0\.ts:1:7 SCRIPT_TYPES Type 'string'/),
    expect.stringMatching(/^agents\/0\.ts:2:17 SCRIPT_TYPES/),
  ]);
});

it("scripts are checked as written: top-level return and await, untyped functions, their own names, a comment at the end", async () => {
  const script =
    "const files = await importer_scan();\nfunction twice(x) { return x * 2; }\nconst seen = {};\nfor (const f of files) seen[f.name] = twice(f.size);\nconst out = [];\nout.push(1);\nif (!files.length) return { none: true };\n({ out }) // end";
  expect(await check(script, script, "type Row = { a: number };\nconst rows: Row[] = [{ a: 1 }];\nrows.length")).toEqual([]);
});

it("a script cannot reach the types of a browser or of Node", async () => {
  expect(await check('fetch("x")', "process.exit()", 'require("fs")')).toHaveLength(3);
});

it("a syntax error is reported with its place and nothing else", async () => {
  expect(await check("const x = ;\nfoo(")).toEqual([
    expect.stringMatching(/^agents\/0\.ts:1:11 SCRIPT_TYPES/),
    expect.stringMatching(/^agents\/0\.ts:/),
  ]);
});

it("an error in one script does not affect the others", async () => {
  expect(await check("const a: number = 'x';", "const a = 1; a", "config_get()")).toEqual([
    expect.stringMatching(/^agents\/0/),
    expect.stringMatching(/^agents\/2/),
  ]);
});

it("leaves nothing on disk and reads nothing from it", async () => {
  const [before, own] = [process.env["TMPDIR"], await mkdtemp(join(tmpdir(), "cleared-tmp-"))];
  process.env["TMPDIR"] = own;
  await writeFile(join(own, "secret.d.ts"), "declare const secret: 1;");
  try {
    expect(await check(`/// <reference path="${own}/secret.d.ts" />\nsecret`)).toEqual([
      expect.stringMatching(/^agents\/0\.ts:2:1 SCRIPT_TYPES Cannot find name 'secret'/),
    ]);
    expect(await readdir(own)).toEqual(["secret.d.ts"]);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    await rm(own, { recursive: true });
  }
});

it("a script that keeps the compiler busy ends it, and this is reported", async () => {
  const [hostile, next] = await Promise.all([check("[".repeat(5000) + "]".repeat(5000)), check("const a: number = 'x';")]);
  expect(hostile).toEqual([expect.stringMatching(/SCRIPT_TYPES The type checker (did not finish within 10 s|stopped)/)]);
  // Whoever waited behind it is served by another one.
  expect(next).toEqual([expect.stringMatching(/^agents\/0\.ts:1:7 SCRIPT_TYPES Type 'string'/)]);
});

it("nothing of one check is visible to the next", async () => {
  expect(await check("const a = 1; a", "const b: number = 'x';")).toHaveLength(1);
  expect(await check("const b = 2; a")).toEqual([expect.stringMatching(/^agents\/0\.ts:1:14 SCRIPT_TYPES Cannot find name 'a'/)]);
  expect(await check("const a: string = 1;", "const b = 2; b", "config_get()")).toEqual([
    expect.stringMatching(/^agents\/0/),
    expect.stringMatching(/^agents\/2/),
  ]);
});

it("types are written for editors, and the user's own tsconfig is kept", async () => {
  const dir = await mkdtemp(join(tmpdir(), "cleared-workspace-"));
  try {
    expect(await writeTypes(dir, primitives)).toEqual([".cleared/types/primitives.d.ts", "tsconfig.json"]);
    expect(await readFile(join(dir, ".cleared/types/primitives.d.ts"), "utf8")).toBe(types);
    expect(JSON.parse(await readFile(join(dir, "tsconfig.json"), "utf8"))).toMatchObject({
      include: ["agents/*.ts", "scripts/*.ts", "scripts/tools/*.ts", ".cleared/types/primitives.d.ts"],
    });
    await writeFile(join(dir, "tsconfig.json"), "{}");
    expect(await writeTypes(dir, primitives)).toEqual([".cleared/types/primitives.d.ts"]);
    expect(await readFile(join(dir, "tsconfig.json"), "utf8")).toBe("{}");
  } finally {
    await rm(dir, { recursive: true });
  }
});

it.skipIf(process.platform !== "linux")("leaves no compiler behind if its process is killed during a check", async () => {
  const nested = `let x = ${"(".repeat(3000)}1${")".repeat(3000)};`;
  const code = `import(${JSON.stringify(new URL("../../runtime/change/checks/typecheck.ts", import.meta.url).href)}).then((one) => one.typecheck([{ file: "a.ts", source: ${JSON.stringify(nested)} }], ""))`;
  const process_ = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
  const below = () =>
    spawnSync("ps", ["-o", "pid=", "--ppid", String(process_.pid)], { encoding: "utf8" })
      .stdout.trim()
      .split(/\s+/)
      .filter(Boolean);
  await vi.waitUntil(() => below().length === 2, { timeout: 60_000 });
  const left = below();
  process_.kill("SIGKILL");
  await vi.waitUntil(() => left.every((pid) => !existsSync(`/proc/${pid}`)), { timeout: 60_000 });
});
