/** The text of a case: read back as it was written whatever it holds, and refused with its place when it is no case. No workspace is needed. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Case, MAX_CASE, parseCase, unfit } from "../../runtime/evidence/case-file.ts";
import { caseText } from "../../runtime/evidence/case-text.ts";
import type { Json } from "../../runtime/ports.ts";
import { ClearedError } from "../../runtime/errors.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const FILE = "cases/ingest/run_1.yaml";
const STEP = '{ call: "ctx_log", effect: "control", params: {"message":"hi"}, result: null, at: 1 }';
const TEXT = `agent: ingest
why: It is right.
from: {run: run_1, commit: "${SHA}", blob: "${SHA}", day: 2026-10-01}
started: 2026-10-01T06:00:00.000Z
cause: {kind: command, key: k}
input: {}
steps:
  - ${STEP}
ended: {status: done, outcome: completed}
expect: {status: done, outcome: completed}
`;

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("\u202e", "\u2028", "\ufeff", "\u0000", "é", "{", "- a: b", "#", "yes", "1.50", "<<", "\ud800"),
);
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
const object = fc.dictionary(text, json) as fc.Arbitrary<Record<string, Json>>;
const call = fc.record({ tool: fc.string({ minLength: 1, maxLength: 20 }), params: json });
const step = fc.record({ params: object, result: json, at: fc.integer({ min: 0, max: 1e6 }), title: text });

test("whatever a run read and did is read back as it was, and the text is plain lines of one meaning", () => {
  const written = fc.record({
    why: fc.string({ minLength: 1, maxLength: 50 }),
    input: json,
    steps: fc.array(step, { maxLength: 4 }),
    calls: fc.array(call, { maxLength: 3 }),
    result: json,
  });
  fc.assert(
    fc.property(written, ({ why, input, steps, calls, result }) => {
      const one: Case = {
        ...parseCase(TEXT, FILE),
        why,
        input,
        steps: steps.map(({ params, result: answer, at, title }, seq) => ({
          ...{ seq, name: "data_read", effect: "read" as const, params: JSON.stringify(params), state: "ok" as const },
          ...{ result: JSON.stringify(answer), error: null, at: Date.parse("2026-10-01T06:00:00.000Z") + at, attempts: seq },
          changes: [{ op: "emit", event: title, payload: answer }],
        })),
        corrected: { entries: [], asked: calls },
      };
      if (one.expect !== null) one.expect.result = result;
      const out = caseText(one);
      expect(out).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/u);
      expect(parseCase(out, FILE)).toEqual(one);
      // Touched by hand it is read as YAML, and is the same.
      expect(parseCase(`${out}# by hand\n`, FILE)).toEqual(one);
    }),
    { numRuns: 100 },
  );
});

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

// what is wrong with it, the text, the line it is refused at (null: the file as a whole)
const HOSTILE: [what: string, text: string, line: number | null, says: RegExp][] = [
  ["nothing", "", 1, /agent/],
  ["garbage", "\u0001\u0002 not: [a case", 1, /Not valid YAML/],
  ["half a file", TEXT.slice(0, 300), null, /Not valid YAML|missing|expected|write/i],
  ["an unknown key", TEXT.replace("why:", "whi: x\nwhy:"), 2, /Unknown key "whi"\. Did you mean "why"/],
  ["an unknown key in a step", TEXT.replace("at: 1 }", "at: 1, act: true }"), 8, /Unknown key "steps\.0\.act"/],
  ["a doubled key", `${TEXT}agent: pay\n`, 11, /Not valid YAML/],
  ["a number as text", TEXT.replace("at: 1 }", 'at: "1" }'), 8, /steps\.0\.at/],
  ["parameters that are no object", TEXT.replace('{"message":"hi"}', '"hi"'), 8, /steps\.0\.params: write an object/],
  ["neither result nor error", TEXT.replace("result: null, ", ""), 8, /write a result or an error/],
  ["an effect of its own", TEXT.replace('"control"', '"free"'), 8, /steps\.0\.effect/],
  ["a change nobody makes", TEXT.replace("at: 1 }", 'at: 1, changes: [{op: "shell", run: "rm"}] }'), 8, /steps\.0\.changes\.0/],
  ["a change of a wrong shape", TEXT.replace("at: 1 }", 'at: 1, changes: [{op: "entries"}] }'), 8, /changes\.0\.text/],
  ["half a commit id", TEXT.replace(SHA, "0123"), 3, /full commit id/],
  ["a day that is none", TEXT.replace("2026-10-01}", "2026-13-45}"), 3, /day/],
  ["a moment that is none", TEXT.replace("06:00:00.000Z", "evening"), 4, /moment/],
  ["a run of exec", TEXT.replace("kind: command", "kind: exec"), 5, /cause\.kind/],
  [
    "money as a number",
    TEXT.replace(
      "outcome: completed}\n",
      "outcome: completed}\ncorrected: {entries: [{id: a, date: 2026-10-01, status: voided, description: '', evidence: '', legs: [{account: A, amount: 84.00, currency: USD}]}]}\n",
    ),
    10,
    /amount/,
  ],
  ["code of its own", TEXT.replace("steps:", "over: {agents/ingest.ts: '1'}\nsteps:"), 7, /agents\/ingest\.ts/],
  ["a way out of policies/", TEXT.replace("steps:", "over: {'policies\\..\\trust.yaml': '1'}\nsteps:"), 7, /over/],
  ["nothing expected", TEXT.replace(/^expect.*\n/m, ""), null, /expects nothing/],
  ["another agent's", TEXT.replace("agent: ingest", "agent: pay"), null, /belongs into cases\/pay\//],
  ["a bomb of references", `a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n${TEXT}`, 1, /references/],
  ["nesting without end", TEXT.replace("input: {}", `input: ${nested(5000)}`), 6, /Not valid YAML|nested/],
  ["nesting beyond 24", TEXT.replace("input: {}", `input: ${nested(40)}`), 6, /nested deeper/],
  ["a tag", TEXT.replace("input: {}", "input: !!js/function 'x'"), 6, /Not valid YAML|tag/i],
  ["ten megabytes", TEXT.replace("hi", "h".repeat(10_000_000)), null, /characters long; at most 262144/],
];

test.for(HOSTILE)("%s is refused at its place", ([, given, line, says]) => {
  const started = (() => {
    try {
      return parseCase(given, FILE);
    } catch (error) {
      return error;
    }
  })();
  expect(started).toBeInstanceOf(ClearedError);
  const error = started as ClearedError;
  expect(error.code).toBe("CASE_INVALID");
  expect(error.message).toMatch(says);
  expect(error.message.startsWith(FILE)).toBe(true);
  if (line !== null) expect(error.at).toMatchObject({ file: FILE, line });
});

test("a case lies where its agent and its name say", () => {
  for (const path of [
    "cases/run_1.yaml",
    "cases/ingest/a/b.yaml",
    "cases/../ingest/run_1.yaml",
    "cases/ingest/a b.yaml",
    "agents/ingest/run_1.yaml",
  ])
    expect(() => parseCase(TEXT, path), path).toThrow("A case lies at cases/<agent>/<name>.yaml");
  expect(parseCase(TEXT, "cases/ingest/a-name.yaml").agent).toBe("ingest");
});

test("names of our own prototypes are data like any other", () => {
  const known = parseCase(TEXT.replace('{"message":"hi"}', '{"__proto__":{"a":1},"constructor":2}'), FILE);
  expect(known.steps[0]?.params).toBe('{"__proto__":{"a":1},"constructor":2}');
  expect(({} as { a?: number }).a).toBeUndefined();
});

test("what could not be read back is not written, and the reason is said", () => {
  const known = parseCase(TEXT, FILE);
  expect(unfit(TEXT, FILE)).toBeNull();
  expect(unfit(caseText({ ...known, input: "x".repeat(MAX_CASE) }), FILE)).toMatch(
    /^its recording has 257 KB as text, and a case has at most 256$/,
  );
  const deep = JSON.parse(nested(30)) as Json;
  expect(unfit(caseText({ ...known, input: deep }), FILE)).toMatch(/^its recording does not fit into a case: .*nested deeper/);
});
