import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isBookDay } from "../../runtime/kernel/day.ts";
import type { Entry } from "../../runtime/kernel/ports.ts";
import { entryId } from "../../runtime/workspace/books/entry-id.ts";
import { cleanEntry, parseJournal, printEntries, printEntry } from "../../runtime/workspace/books/journal-text.ts";
import { applyEdits, noEdits, plain } from "../../runtime/workspace/books/ledger.ts";
import { expectSound, MAIN, memoryTree, withChanges } from "./memory-tree.ts";

const SAMPLE = `2026-11-06 ! (261106-9sd0ee4k2m) Amazon | AMZN MKTP US*ABC123
    ; conf: 0.70
    ; ev: llm claude; 2 of 3 neighbours
    ; key: chase:1234:20261106:-42.99:9f31:0
    ; run: run_01JD3
    ; status: pending-review
    Expenses:Office Supplies  42.99 USD
    Assets:Bank:Checking  -42.99 USD

2026-11-06 * (261106-0000000000) Statement balance
    ; key: closing
    ; status: bootstrap-confirmed
    Assets:Bank:Checking  0.00 USD = -42.99 USD
`;

function entry(key: string, words: Partial<Entry> = {}): Entry {
  return {
    id: entryId("2026-11-06", key),
    date: "2026-11-06",
    status: "auto-confirmed",
    counterparty: "",
    description: "x",
    postings: [
      { account: "Expenses:Software", amount: "1.00", currency: "USD" },
      { account: "Assets:Bank:Checking", amount: "-1.00", currency: "USD" },
    ],
    ...words,
    tags: { ...words.tags, key },
  };
}

describe("the journal's text", () => {
  test("parses into entries with their lines and prints back to the same bytes", () => {
    const { entries, findings } = parseJournal(SAMPLE, "journal/2026/11.journal");
    expect(findings).toEqual([]);
    expect(entries.map((e) => [e.line, e.counterparty, e.description, e.status])).toEqual([
      [1, "Amazon", "AMZN MKTP US*ABC123", "pending-review"],
      [10, "", "Statement balance", "bootstrap-confirmed"],
    ]);
    expect(printEntries(entries)).toBe(SAMPLE);
  });

  test.each([
    ["two blank lines", (t: string) => t.replace("\n\n", "\n\n\n"), 10],
    ["no blank line", (t: string) => t.replace("\n\n", "\n"), 9],
    ["no final line feed", (t: string) => t.slice(0, -1), 13],
    ["one blank before the amount", (t: string) => t.replace("Supplies  42", "Supplies 42"), 7],
    ["a float's exponent", (t: string) => t.replace("42.99 USD", "4e1 USD"), 7],
    ["leading zeros", (t: string) => t.replace("  42.99", "  042.99"), 7],
    [
      "tags out of order",
      (t: string) =>
        t
          .replace("    ; conf: 0.70\n", "")
          .replace("    ; key", "    ; conf: 0.70\n    ; key")
          .replace("    ; ev", "    ; zz: 1\n    ; ev"),
      2,
    ],
    ["a mark against the status", (t: string) => t.replace(" ! ", " * "), 1],
    ["an unknown status", (t: string) => t.replace("pending-review", "done"), 1],
    ["no status", (t: string) => t.replace("    ; status: pending-review\n", ""), 1],
    ["a hand-written comment", (t: string) => `; mine\n\n${t}`, 1],
    ["a tab", (t: string) => t.replace("    Assets", "\tAssets"), 8],
    ["a carriage return", (t: string) => t.replace("ABC123\n", "ABC123\r\n"), 1],
    ["an assertion in another currency", (t: string) => t.replace("= -42.99 USD", "= -42.99 EUR"), 13],
  ])("that has %s is a finding with its line", (_, spoil, line) => {
    const { findings } = parseJournal(spoil(SAMPLE), "f");
    expect(findings.map((f) => [f.code, f.at.line])).toContainEqual(["JOURNAL_FORM", line]);
  });

  test("never throws on garbage", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.nat(400),
        (noise, at) => void parseJournal(SAMPLE.slice(0, at) + noise + SAMPLE.slice(at), "f"),
      ),
      { numRuns: 300 },
    );
  });

  test("reads back as it was cleaned, whatever the bank wrote", () => {
    const text = fc.string({ unit: "binary", maxLength: 700 });
    fc.assert(
      fc.property(text, text, text, text, (counterparty, description, ev, key) => {
        const clean = cleanEntry(entry(`k${key.slice(0, 300)}`, { counterparty, description, tags: { ev, note: description } }));
        const { entries, findings } = parseJournal(printEntry(clean), "f");
        expect(findings).toEqual([]);
        expect(entries.map(plain)).toEqual([clean]);
        expect(cleanEntry(clean)).toEqual(clean);
      }),
      { numRuns: 500 },
    );
  });

  const HOSTILE = [
    "line\nbreak\r\n2026-01-01 * forged",
    "semi ; colon  ;  ; key: forged",
    "(code) * ! = 2026-01-02",
    "| bar | bar",
    "\u202Edlrow\u2066 bidi \u200B zero \uFEFF",
    "[2020-01-01] [=2019/01/01] :tag:tag2: date:2020-01-01, payee: X",
    "  lead and trail  ",
    "\u00a0\u2003nbsp\u3000",
    "a".repeat(9000),
    "😀".repeat(3000),
    "\ud800 lone",
    "comma, tag: x, y:z",
    "{1.00 USD} @ 5 = 3 & (1+2) \"q\" 'q' \\ %20 %",
    "include /etc/passwd",
    "",
  ];
  const hasTools = spawnSync("hledger", ["--version"]).status === 0 && spawnSync("ledger", ["--version"]).status === 0;

  test.skipIf(!hasTools)("is read by both tools exactly as we read it, hostile words included", async () => {
    const entries = HOSTILE.map((text, i) =>
      entry(`row ${i} ${text.slice(0, 200)}`, {
        counterparty: i % 2 === 0 ? "" : text,
        description: text,
        tags: { ev: text, note: `:${text}` },
      }),
    );
    const files = new Map([["main.journal", MAIN]]);
    const applied = await applyEdits(memoryTree(files), { ...noEdits(), add: entries }, {});
    const after = withChanges(files, await applied.files());
    await expectSound(after);
    const read = parseJournal(after.get("journal/2026/11.journal") ?? "", "f").entries;
    const words = read.map((e) => (e.counterparty === "" ? e.description : `${e.counterparty} | ${e.description}`));
    const dir = mkdtempSync(join(tmpdir(), "cleared-words-"));
    try {
      for (const [path, text] of after) {
        mkdirSync(dirname(join(dir, path)), { recursive: true });
        writeFileSync(join(dir, path), text);
      }
      const options = { cwd: dir, env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8" }, encoding: "utf8" } as const;
      expect(
        execFileSync("ledger", ["--args-only", "-f", "main.journal", "--format", "%(payee)\\n", "reg", "Expenses"], options)
          .split("\n")
          .slice(0, -1),
      ).toEqual(words);
      const printed = execFileSync("hledger", ["-f", "main.journal", "print", "-O", "json"], options);
      const transactions = JSON.parse(printed) as {
        tdescription: string;
        tdate: string;
        ttags: [string, string][];
        tpostings: unknown[];
      }[];
      expect(transactions.map((t) => t.tdescription)).toEqual(words);
      expect(transactions.map((t) => [t.tdate, t.tpostings.length])).toEqual(read.map(() => ["2026-11-06", 2]));
      expect(transactions.map((t) => t.ttags.length)).toEqual(read.map((e) => Object.keys(e.tags).length + 1));
      expect(transactions.map((t) => Object.fromEntries(t.ttags)["ev"])).toEqual(read.map((e) => e.tags["ev"]));
      const dates = execFileSync(
        "ledger",
        ["--args-only", "-f", "main.journal", "--date-format", "%Y-%m-%d", "--format", "%(date) %(tag('ev'))\\n", "reg", "Expenses"],
        options,
      );
      expect(dates.split("\n").slice(0, -1)).toEqual(read.map((e) => `2026-11-06 ${e.tags["ev"] ?? ""}`));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("knows which days an entry may have", () => {
    expect(["2024-02-29", "2000-02-29", "2026-12-31"].map(isBookDay)).toEqual([true, true, true]);
    expect(
      ["2026-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "2026-1-1", "20260101", "1969-12-31", "2070-01-01"].some(
        isBookDay,
      ),
    ).toBe(false);
  });

  test("of 100,000 entries is read in a few seconds", () => {
    const one = (i: number): string =>
      printEntry(cleanEntry(entry(`k${i}`, { counterparty: "Amazon", tags: { conf: "0.70", ev: "rule vendor", run: "run_1" } })));
    const text = Array.from({ length: 100_000 }, (_, i) => one(i)).join("\n");
    const start = process.cpuUsage();
    expect(parseJournal(text, "f").entries.length).toBe(100_000);
    const { user, system } = process.cpuUsage(start);
    console.log(`100,000 entries (${(text.length / 1e6).toFixed(1)} MB) parsed in ${((user + system) / 1e6).toFixed(2)} s of CPU`);
    expect((user + system) / 1e6).toBeLessThan(8);
  });
});
