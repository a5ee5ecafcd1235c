/** What the compiler accepts, what it refuses with which words, and where it says things are. */
import { afterAll, describe, expect, test } from "vitest";
import { formatAt } from "../../runtime/errors.ts";
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
    ["echo = 1", 'agents/a.ts:1:1 SCRIPT_LANGUAGE "echo" cannot be assigned to'],
    ["const today = new Date();\ntoday", "agents/a.ts:1:15 SCRIPT_LANGUAGE new Date() depends on the clock"],
    ["({}).constructor", 'agents/a.ts:1:6 SCRIPT_LANGUAGE ".constructor" is not part'],
    ["const { constructor: c } = {} as any;\nc", 'agents/a.ts:1:9 SCRIPT_LANGUAGE ".constructor"'],
    ["/(a+)+$/.test('a')", "agents/a.ts:1:1 SCRIPT_LANGUAGE A repetition inside a repetition"],
    ["const a = 'x\u202E';\na", "agents/a.ts:1:13 SCRIPT_LANGUAGE The invisible character U+202E"],
    ["enum A { B }", "agents/a.ts:1:1 SCRIPT_LANGUAGE enum is not part"],
    ["result: { echo(1) }", "agents/a.ts:1:1 SCRIPT_LANGUAGE A label stands only before a loop"],
    ["await 5", "agents/a.ts:1:1 SCRIPT_LANGUAGE await stands only before a call"],
    ["const n = 'a';\nscript_run(n, {})", "agents/a.ts:2:12 SCRIPT_LANGUAGE script_run needs the name"],
    ["const x = ;", "agents/a.ts:1:11 SCRIPT_SYNTAX"],
    ["import fs from 'node:fs'", "import is not part of the language: primitives are globals"],
    ["1n", "agents/a.ts:1:1 SCRIPT_LANGUAGE BigInt"],
    ["async function f() {}\nf()", "agents/a.ts:1:1 SCRIPT_LANGUAGE Async functions"],
  ];
  for (const [source, wanted] of rows) {
    test(`${JSON.stringify(source)} is refused with what to write instead`, async () => {
      expect((await findings(source)).join("\n")).toContain(wanted);
    });
  }
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
