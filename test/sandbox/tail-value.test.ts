/** The result rule against plain eval: for random legal scripts both give the same value, with and without erased types between the statements. */
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { runScript } from "./corpus.ts";

const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

// Each node carries the text with types and the text without.
type Text = { ts: string; js: string };
const same = (text: string): Text => ({ ts: text, js: text });
const join = (parts: Text[], between: string): Text => ({
  ts: parts.map((p) => p.ts).join(between),
  js: parts.map((p) => p.js).join(between),
});
const wrap = (before: string, inner: Text, after: string): Text => ({ ts: before + inner.ts + after, js: before + inner.js + after });

const value = fc.constantFrom(
  "1",
  "'a'",
  "[2, 3]",
  "({ k: 1 })",
  "`t`",
  "n",
  "-n",
  "!n",
  "n ? 1 : 'no'",
  "(n, 5)",
  "[n].map((x) => x + 1)",
  "/a(b)/.test('ab')",
  "n++",
  "(() => { return 7 })()",
);
const typed: fc.Arbitrary<Text> = fc.oneof(
  value.map(same),
  value.map((text) => ({ ts: `(${text} as any)`, js: `(${text})` })),
  value.map((text) => ({ ts: `(${text} satisfies unknown)`, js: `(${text})` })),
  value.map((text) => ({ ts: `[${text}]!`, js: `[${text}]` })),
);
const expression = typed.map((text) => wrap("", text, ";"));
const filler: fc.Arbitrary<Text> = fc.constantFrom<Text>(
  { ts: "type A = { a: 1 }\n", js: "" },
  { ts: "interface B { b: string }\n", js: "" },
  same("n += 1;"),
  same("let unused;"),
  same("// note\n"),
  { ts: "const f = <T,>(x: T): T => x;", js: "const f = (x) => x;" },
);
/** A list whose last statement is `last`, in a block of its own so that names do not meet. */
const list = (last: fc.Arbitrary<Text>) =>
  fc.tuple(fc.option(filler), last).map(([before, end]) => (before === null ? end : join([before, end], "\n")));
const { statement } = fc.letrec<{ statement: Text }>((tie) => ({
  statement: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    expression,
    list(tie("statement")).map((inner) => wrap("{ ", inner, " }")),
    fc
      .tuple(fc.constantFrom("true", "false", "n > 2"), list(tie("statement")), list(tie("statement")))
      .map(([test, yes, no]) => join([wrap(`if (${test}) { `, yes, " }"), wrap("else { ", no, " }")], "\n")),
    fc
      .tuple(
        fc.integer({ min: 0, max: 3 }),
        list(tie("statement")),
        list(tie("statement")),
        list(tie("statement")),
        fc.boolean(),
        fc.boolean(),
      )
      .map(([on, a, b, c, breaks, early]) =>
        join(
          [
            wrap(`switch (${on}) { case 0: {`, a, breaks ? " } break;" : " }"),
            wrap("case 1: {", b, early ? " break; }" : " } break;"),
            wrap("default: {", c, " } }"),
          ],
          "\n",
        ),
      ),
    list(tie("statement")).map((inner) => wrap("try { ", inner, " } finally { n }")),
  ),
}));

test("500 random scripts have the same value as with plain eval", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(filler, { maxLength: 2 }), statement, async (before, last) => {
      const names = new Map<string, number>();
      // The same declaration twice in one list is no script.
      const once = before.filter(({ ts }) => !names.has(ts) && names.set(ts, 1));
      const script = join([same("let n = 3;"), ...once, last], "\n");
      const wanted = runInNewContext(`"use strict";\n${script.js}`) as unknown;
      const { end, findings } = await runScript(sandbox, script.ts);
      expect(end?.kind === "result" ? JSON.parse(end.json) : { end, findings }, script.ts).toEqual(
        JSON.parse(JSON.stringify(wanted ?? null)),
      );
    }),
    { numRuns: 500, seed: 42 },
  );
});
