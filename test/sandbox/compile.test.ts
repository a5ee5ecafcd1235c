/** What the compiler accepts, what it refuses with which words, and where it says things are. */
import { afterAll, describe, expect, test } from "vitest";
import { formatAt } from "../../runtime/kernel/errors.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { runScript } from "./corpus.ts";

const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

const lint = (source: string) =>
  sandbox.compile(source, { file: "agents/a.ts", blob: source, lint: true, primitives: ["echo", "script_run", "journal_add"] });
const findings = async (source: string) => (await lint(source)).findings.map((one) => `${formatAt(one.at)} ${one.code} ${one.message}`);

describe("refusals", () => {
  const rows: [string, string][] = [
    ["const a = 1;\nclass B {}", "agents/a.ts:2:1 SCRIPT_LANGUAGE Classes are not part"],
    ["try { echo(1) } catch (e) {}", "agents/a.ts:1:1 SCRIPT_LANGUAGE try/catch"],
    ["ehco(1)", 'agents/a.ts:1:1 SCRIPT_UNKNOWN_NAME "ehco" is neither declared nor a primitive. Did you mean "echo"?'],
    ["const echo = 1;\necho", 'agents/a.ts:1:7 SCRIPT_LANGUAGE "echo" is already the name of a primitive'],
    ["const other = echo;\nother(1)", "agents/a.ts:1:15 SCRIPT_LANGUAGE echo is a primitive, which is not a value. Call it here"],
    ["(echo as any)(1)", "agents/a.ts:1:2 SCRIPT_LANGUAGE echo is a primitive, which is not a value"],
    ["const f = (a: any) => a;\nf.call(null, 1)", "agents/a.ts:2:1 SCRIPT_LANGUAGE .call() is not part of the language"],
    ["const f = (a: any) => a;\nf['bind'](null)", "agents/a.ts:2:1 SCRIPT_LANGUAGE .bind() is not part of the language"],
    ["echo = 1", 'agents/a.ts:1:1 SCRIPT_LANGUAGE "echo" cannot be assigned to'],
    ["const today = new Date();\ntoday", "agents/a.ts:1:15 SCRIPT_LANGUAGE new Date() depends on the clock"],
    ["({}).constructor", 'agents/a.ts:1:6 SCRIPT_LANGUAGE ".constructor" is not part'],
    ["const { constructor: c } = {} as any;\nc", 'agents/a.ts:1:9 SCRIPT_LANGUAGE ".constructor"'],
    ["/(a+)+$/.test('a')", "agents/a.ts:1:1 SCRIPT_LANGUAGE A repetition inside a repetition"],
    [
      "const a = 'x\u202E';\na",
      'agents/a.ts:1:13 SCRIPT_LANGUAGE The character U+202E is invisible to a reader. Delete it, or write it as "\\u202e".',
    ],
    ["enum A { B }", "agents/a.ts:1:1 SCRIPT_LANGUAGE enum is not part"],
    ["result: { echo(1) }", "agents/a.ts:1:1 SCRIPT_LANGUAGE A label is allowed only before a loop"],
    ["await 5", "agents/a.ts:1:1 SCRIPT_LANGUAGE await is allowed only before a call"],
    ["const n = 'a';\nscript_run(n, {})", "agents/a.ts:2:12 SCRIPT_LANGUAGE script_run needs the name"],
    ["const x = ;", "agents/a.ts:1:11 SCRIPT_SYNTAX"],
    ["import fs from 'node:fs'", "import is not part of the language: primitives are globals"],
    ["1n", "agents/a.ts:1:1 SCRIPT_LANGUAGE BigInt"],
    ["async function f() {}\nf()", "agents/a.ts:1:1 SCRIPT_LANGUAGE Async functions"],
    ["Array.fromAsync([])", 'agents/a.ts:1:7 SCRIPT_LANGUAGE ".fromAsync" is not part'],
    ['const o: any = {};\no["def" + "ineProperty"]', 'agents/a.ts:2:3 SCRIPT_LANGUAGE ".defineProperty"'],
  ];
  for (const [source, wanted] of rows) {
    test(`${JSON.stringify(source)} is refused with what to write instead`, async () => {
      expect((await findings(source)).join("\n")).toContain(wanted);
    });
  }
});

describe("__proto__", () => {
  const spellings = [
    "o.__proto__",
    "o?.__proto__",
    "o.__pr\\u006fto__",
    'o["__proto__"]',
    "o[`__proto__`]",
    "o['__pro\\x74o__']",
    'o["__proto__" as string]',
    'o[("__proto__")]',
    'o["__proto__"!]',
    'o["__proto__" satisfies string]',
    'o[(0, "__proto__")]',
    'o["__pro" + "to__"]',
    ["o[`__pro", "{'to'}__`]"].join("$"),
    "o.__proto__ = null",
    "({ __proto__: o })",
    '({ "__proto__": o })',
    '({ ["__proto__"]: o })',
    '({ ["__pro" + "to__"]: o })',
    "({ __proto__() {} })",
    "const { __proto__: p } = o;\np",
    'const { ["__proto__"]: p } = o;\np',
    "let p;\n({ __proto__: p } = o)",
    "const f = ({ __proto__: p }: any) => p;\nf(o)",
    "o.__lookupGetter__('x')",
  ];
  for (const spelling of spellings) {
    test(`is refused as ${JSON.stringify(spelling)}`, async () => {
      expect((await findings(`const o: any = {};\n${spelling}`)).join("\n")).toMatch(/SCRIPT_LANGUAGE "\.__(?:proto|lookupGetter)__"/);
    });
  }
  const atRunTime = [
    'o[["__", "proto__"].join("")]',
    'o[["__", "proto__"].join("")] = null',
    'Object.assign({}, JSON.parse(["{\\"__", "proto__\\": {}}"].join("")))',
    'o[["__defineGetter", "__"].join("")]("a", () => 1)',
  ];
  for (const spelling of atRunTime) {
    test(`fails where only the run knows it: ${spelling}`, async () => {
      const { end } = await runScript(sandbox, `const o: any = {};\n${spelling}`, { lint: true });
      expect(end).toMatchObject({ kind: "failed", error: { code: "SCRIPT_ERROR", at: { line: 2 } } });
    });
  }
});

describe("what a reviewer cannot see", () => {
  const rows: [string, string][] = [
    ["// pay\rjournal_add({})", "1:7 SCRIPT_LANGUAGE The character U+000D ends a line for a program but not for a reader"],
    ["// pay\u2028journal_add({})", "1:7 SCRIPT_LANGUAGE The character U+2028 ends a line"],
    ["const a = 'x\u3164';\na", "1:13 SCRIPT_LANGUAGE The character U+3164 is invisible to a reader"],
    ["const a\u115f = 1;\na\u115f", "1:8 SCRIPT_LANGUAGE The character U+115F"],
    [
      "const a = 'x\u{e0041}';\na",
      '1:13 SCRIPT_LANGUAGE The character U+E0041 is invisible to a reader. Delete it, or write it as "\\udb40\\udc41".',
    ],
    ["const pаy = 1;\npаy", '1:7 SCRIPT_LANGUAGE The name "pаy" mixes letters of several scripts'],
    ["const сору = 1;\nсору", '1:7 SCRIPT_LANGUAGE The name "сору" is made of letters that look like Latin ones'],
    ["const ﬁt = 1;\nﬁt", '1:7 SCRIPT_LANGUAGE The name "ﬁt" has letters in a form that is drawn like another'],
    ["const o = { tоtal: 1 };\no", '1:13 SCRIPT_LANGUAGE The name "tоtal" mixes'],
    ["echo('bank/pаy')", '1:12 SCRIPT_LANGUAGE "pаy" mixes Latin letters with а (U+0430), which look like them'],
    ["echo('p\uff41id')", '1:7 SCRIPT_LANGUAGE "pａid" mixes Latin letters with ａ (U+FF41)'],
    ["let ok\u01c3 = 1;\nok\u01c3", '1:5 SCRIPT_LANGUAGE The name "okǃ" has a letter that looks like an operator'],
    ["const a = 'x\u00a0y';\na", '1:13 SCRIPT_LANGUAGE The character U+00A0 looks like a space. Write one, or "\\u00a0".'],
    [`const a = 1;${" ".repeat(80)}echo(2);\na`, "1:13 SCRIPT_LANGUAGE Text follows after 80 spaces or tabs"],
    ["// аpprove\n1", '1:4 SCRIPT_LANGUAGE "аpprove" mixes Latin letters'],
  ];
  for (const [source, wanted] of rows) {
    test(`${JSON.stringify(source)} is refused`, async () => {
      expect((await findings(source)).join("\n")).toContain(`agents/a.ts:${wanted}`);
    });
  }
  test("visible text is accepted: a byte order mark, CRLF, emoji, other scripts", async () => {
    const source = "\ufeff// счёт 名前 ✓ 👩‍💻 ❤️\r\nconst größe = 'копия';\r\nconst сумма = 名 => 名;\r\nсумма(größe)";
    expect(await findings(source)).toEqual([]);
  });
});

test("the calls and sub-scripts of a script are listed with their literal keys", async () => {
  const { compiled } = await lint(
    'const p = { a: 1 };\njournal_add({ date: "x", legs: [] });\njournal_add(p);\necho("bare");\nscript_run("round", { n: 1 })',
  );
  expect(compiled?.scripts).toEqual(["round"]);
  expect(compiled?.calls.map(({ name, keys, bare, at }) => [name, keys, bare, formatAt(at)])).toEqual([
    ["journal_add", ["date", "legs"], false, "agents/a.ts:2:1"],
    ["journal_add", null, false, "agents/a.ts:3:1"],
    ["echo", null, true, "agents/a.ts:4:1"],
    ["script_run", null, true, "agents/a.ts:5:1"],
  ]);
});

describe("places", () => {
  // Each script fails at the mark; the mark is removed before it runs.
  const scripts = [
    "^echo(() => 1)",
    "const a = 1;\n  ^echo(() => 1)",
    "const a: number = ^echo(() => 1)",
    "if (true) {\n  const b = 1;\n  b + ^echo(() => 1)\n}",
    "/* head */ const f = (x: { a: string }) => ^echo(() => 1);\nf({ a: '' })",
    "const t = 'é😀'; ^echo(() => 1)",
    "type A = { a: 1 }; ^echo(() => 1)",
    "let a = 1\ntype A = 2\n^echo(() => 1)",
    "throw ^new Error('x')",
    "switch (1) { case 1: 5 + ^echo(() => 1); break }",
    "await ^echo(() => 1)",
  ];
  for (const marked of scripts) {
    test(`${JSON.stringify(marked)} is reported where it is`, async () => {
      const before = marked.slice(0, marked.indexOf("^"));
      const outcome = await runScript(sandbox, marked.replace("^", ""), { name: "agents/place.ts" });
      const end = outcome.end;
      expect(end?.kind === "failed" && end.error.at, JSON.stringify(end)).toEqual({
        file: "agents/place.ts",
        line: before.split("\n").length,
        col: before.length - before.lastIndexOf("\n"),
      });
    });
  }
});
