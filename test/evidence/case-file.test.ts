/** The text of a case: read back as it was written whatever it holds, and refused with its place when it is no case. No workspace is needed. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Case, MAX_CASE, parseCase, unfit, caseText } from "../../runtime/change/evidence/case-file.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const HASH = "0123456789abcdef".repeat(4);
const FILE = "cases/ingest/run_1.yaml";
const BOOKED = '{"id":"261001-aaaaaaaaaa","about":"2026-10-01 GITHUB","legs":["Expenses:Software 84.00 USD","Assets:Bank -84.00 USD"]}';
const TEXT = `agent: ingest
why: It is right.
from: {run: run_1, recording: "${HASH}", commit: "${SHA}", day: 2026-10-01}
books:
  - ${BOOKED}
asks:
  - {"tool": "bank_pay", "params": {"to":"ACME"}}
ends: completed
`;

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom("\u202e", "\u2028", "\ufeff", "\u0000", "é", "{", "- a: b", "#", "yes", "null", "1.50", "<<", "\ud800"),
);
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
const call = fc.record({ tool: fc.string({ minLength: 1, maxLength: 20 }), params: json });

test("everything a run booked, called and returned is read back unchanged, and the text is plain, unambiguous lines", () => {
  const written = fc.record({
    why: fc.string({ minLength: 1, maxLength: 50 }),
    about: fc.string({ minLength: 1, maxLength: 50 }),
    asks: fc.array(call, { maxLength: 3 }),
    times: fc.integer({ min: 0, max: 9 }),
    answers: fc.dictionary(text, json),
    over: fc.dictionary(
      fc.constantFrom("config.yaml", "policies/é.yaml", 'importers/a "b": c.yaml'),
      fc.option(fc.constant(SHA), { nil: null }),
    ),
  });
  fc.assert(
    fc.property(written, ({ why, about, asks, times, answers, over }) => {
      const known = parseCase(TEXT, FILE);
      const [booked] = known.keeps.books as [Case["keeps"]["books"][number]];
      const one: Case = {
        ...known,
        why,
        over,
        keeps: {
          ...known.keeps,
          books: [{ ...booked, about }],
          asks,
          makes: asks.map((made) => ({ ...made, times })),
          ...(Object.keys(answers).length === 0 ? {} : { answers }),
        },
      };
      const out = caseText(one);
      expect(out).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/u);
      expect(parseCase(out, FILE)).toEqual(one);
      // Touched by hand it is read as YAML, and is the same.
      expect(parseCase(`${out}# by hand\n`, FILE)).toEqual(one);
    }),
    { numRuns: 100 },
  );
});

test("a case of twenty rows has at most 6 kB", () => {
  const known = parseCase(TEXT, FILE);
  const books = Array.from({ length: 20 }, (_, n) => ({
    id: `2610${10 + n}-abcdefghj${n % 10}`,
    about: `2026-10-${10 + n} AMZN MKTP US*ABC123 SEATTLE WA`,
    legs: ["Expenses:Office Supplies 1284.95 USD", "Assets:Bank:Checking -1284.95 USD"],
  }));
  expect(caseText({ ...known, keeps: { ...known.keeps, books } }).length).toBeLessThan(6144);
});

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

// what is wrong with it, the text, the line it is refused at (null: the file as a whole)
const HOSTILE: [what: string, text: string, line: number | null, says: RegExp][] = [
  ["nothing", "", 1, /agent/],
  ["garbage", "\u0001\u0002 not: [a case", 1, /Not valid YAML/],
  ["half a file", TEXT.slice(0, 300), null, /Not valid YAML|missing|expected|write/i],
  ["an unknown key", TEXT.replace("why:", "whi: x\nwhy:"), 2, /Unknown key "whi"\. Did you mean "why"/],
  ["an unknown key in an entry", TEXT.replace('"id":', '"status":"voided","id":'), 5, /Unknown key "books\.0\.status"/],
  ["a doubled key", `${TEXT}agent: pay\n`, 9, /Not valid YAML/],
  ["a leg that is none", TEXT.replace('84.00 USD"', '84.00"'), 5, /books\.0\.legs\.0: write a leg/],
  ["an entry without an id", TEXT.replace('"id":"261001-aaaaaaaaaa",', ""), 5, /books\.0\.id: is missing/],
  ["an amount as a number", TEXT.replace('"Expenses:Software 84.00 USD"', "84.00"), 5, /books\.0\.legs\.0/],
  ["a call without parameters", TEXT.replace(', "params": {"to":"ACME"}', ""), 7, /asks\.0\.params/],
  ["an end that is none", TEXT.replace("completed", "paid"), 8, /ends/],
  ["half a hash", TEXT.replace(HASH, "0123"), 3, /SHA-256/],
  ["half a commit id", TEXT.replace(`"${SHA}"`, '"0123"'), 3, /full object id/],
  ["a day that is none", TEXT.replace("2026-10-01}", "2026-13-45}"), 3, /day/],
  ["code of its own", TEXT.replace("books:", `over: {agents/ingest.ts: "${SHA}"}\nbooks:`), 4, /agents\/ingest\.ts/],
  ["a way out of policies/", TEXT.replace("books:", `over: {'policies\\..\\trust.yaml': "${SHA}"}\nbooks:`), 4, /over/],
  ["a text of its own", TEXT.replace("books:", "over: {config.yaml: 'currency: EUR'}\nbooks:"), 4, /full object id/],
  ["nothing kept", TEXT.slice(0, TEXT.indexOf("books:")), null, /checks nothing/],
  ["another agent's", TEXT.replace("agent: ingest", "agent: pay"), null, /belongs in cases\/pay\//],
  ["a bomb of references", `a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n${TEXT}`, 1, /references/],
  ["nesting without end", `${TEXT}answers: {a: ${nested(5000)}}\n`, 9, /Not valid YAML|nested/],
  ["nesting beyond 24", `${TEXT}answers: {a: ${nested(40)}}\n`, 9, /nested deeper/],
  ["a tag", `${TEXT}answers: {a: !!js/function 'x'}\n`, 9, /Not valid YAML|tag/i],
  ["ten megabytes", TEXT.replace("GITHUB", "G".repeat(10_000_000)), null, /characters long; at most 262144/],
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

test("a case's path gives its agent and name", () => {
  for (const path of [
    "cases/run_1.yaml",
    "cases/ingest/a/b.yaml",
    "cases/../ingest/run_1.yaml",
    "cases/ingest/a b.yaml",
    "agents/ingest/run_1.yaml",
  ])
    expect(() => parseCase(TEXT, path), path).toThrow("A case is stored at cases/<agent>/<name>.yaml");
  expect(parseCase(TEXT, "cases/ingest/a-name.yaml").agent).toBe("ingest");
});

test("names of prototype properties are ordinary data", () => {
  const known = parseCase(TEXT.replace('{"to":"ACME"}', '{"__proto__":{"a":1},"constructor":2}'), FILE);
  expect(JSON.stringify(known.keeps.asks[0]?.params)).toBe('{"__proto__":{"a":1},"constructor":2}');
  for (const answers of ['{"__proto__":{"a":1},"constructor":2}', "{ __proto__: {a: 1}, constructor: 2 } # by hand"]) {
    const read = parseCase(`${TEXT}answers: ${answers}\n`, FILE);
    expect(JSON.stringify(read.keeps.answers)).toBe('{"__proto__":{"a":1},"constructor":2}');
    expect(parseCase(caseText(read), FILE)).toEqual(read);
  }
  expect(({} as { a?: number }).a).toBeUndefined();
});

test("what could not be read back is not written, and the reason is given", () => {
  const known = parseCase(TEXT, FILE);
  expect(unfit(TEXT, FILE)).toBeNull();
  const asking = (params: Json): Case => ({ ...known, keeps: { ...known.keeps, asks: [{ tool: "bank_pay", params }] } });
  expect(unfit(caseText(asking("x".repeat(MAX_CASE))), FILE)).toMatch(/^what it keeps has 257 KB as text, and a case has at most 256$/);
  const deep = JSON.parse(nested(30)) as Json;
  expect(unfit(caseText(asking(deep)), FILE)).toMatch(/^what it keeps does not fit into a case: .*nested deeper/);
});
