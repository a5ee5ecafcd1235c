/** A call that was denied or failed ends the run, whatever the script does with it: no other call reaches the host, and no result counts. */
import { afterAll, describe, expect, test } from "vitest";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { runScript } from "./corpus.ts";

const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

const DENIED = { code: "FSM_EFFECT_DENIED", message: "Not in this state.", data: { state: "ASSESS" } };
const ITERATOR = `const [iterator] = Object.getOwnPropertySymbols(Object.getPrototypeOf([]));`;

const SCRIPTS: [string, string][] = [
  ["catches it", `try { echo("pay") } catch {}\necho("again")`],
  ["catches it and returns", `try { echo("pay") } catch (error) { ({ done: true }) }`],
  ["goes on in finally", `for (;;) { try { echo("pay") } finally { echo("again"); break } }`],
  [
    "goes on where an iterator is closed",
    `${ITERATOR}\nfor (const x of { [iterator]: () => ({ next: () => ({ value: 1 }), return: () => echo("again") }) } as any) echo("pay");`,
  ],
  ["catches it in an async function", `const f = async () => { echo("pay") };\nf().catch(() => 0);\necho("again")`],
  ["catches it in a promise", `const P = (async () => {})().constructor as any;\nnew P(() => echo("pay"));\necho("again")`],
  [
    "catches it in a generator",
    `const g = (function* () { try { yield 1 } finally { echo("again") } })();\ng.next();\ntry { echo("pay") } catch {}\ng.return()`,
  ],
  ["catches it in a getter", `const o = { get a() { try { return echo("pay") } catch { return 1 } } };\necho(o)`],
  [
    "catches it in a promise callback",
    `const P = (async () => {})().constructor as any;\nP.resolve().then(() => echo("late"));\ntry { echo("pay") } catch {}\n1`,
  ],
];

describe("live", () => {
  for (const [what, source] of SCRIPTS) {
    test(`a script that ${what}`, async () => {
      const asked: string[] = [];
      const { end } = await runScript(sandbox, source, {
        answer: (call) => {
          asked.push(call.params);
          return { kind: "error", error: DENIED, now: 1 };
        },
      });
      expect(asked).toEqual(['{"x":"pay"}']);
      expect(end).toMatchObject({ kind: "failed", error: { ...DENIED, at: { file: "agents/test.ts" } }, calls: 1 });
      expect((await runScript(sandbox, "echo(7)")).result).toBe(7);
    });
  }
});

describe("on replay", () => {
  const history = [{ name: "echo", params: '{"x":"pay"}', result: null, error: DENIED, at: 1 }];
  for (const [what, source] of SCRIPTS) {
    test(`a script that ${what}`, async () => {
      const asked: string[] = [];
      const { end } = await runScript(sandbox, source, { history, answer: (call) => void asked.push(call.params) });
      expect(asked).toEqual([]);
      expect(end).toMatchObject({ kind: "failed", error: DENIED, calls: 1 });
    });
  }
});

test("no script that passes the lint reaches a promise or catches an error", async () => {
  const ways = [
    "Array.fromAsync({ get length() { return 1 } } as any)",
    'Array["from" + "Async"]([])',
    'const a: any = Array;\na[["from", "Async"].join("")]([])',
    "const { fromAsync } = Array as any;\nfromAsync([])",
    "const f = async () => 1;\nf()",
    "const a: any = [];\na.constructor",
    'const f: any = () => 1;\nf["con" + "structor"]',
    'const f: any = () => 1;\nf[["con", "structor"].join("")]("return 1")()',
    "new Promise(() => 1)",
    "await Promise.all([])",
    "import('x')",
  ];
  for (const source of ways) {
    const { status, code } = await runScript(sandbox, source, { lint: true });
    expect([source, status, code]).toEqual([source, "failed", expect.stringMatching(/^SCRIPT_/)]);
  }
});
