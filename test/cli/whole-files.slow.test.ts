/** Files as real programs write them: in bursts, held open, renamed into place, replaced. Every row is booked once, however it came. */
import { appendFileSync, closeSync, openSync, readFileSync, readdirSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { agrees, cleared, commit, isThere, put, shell, start, statement, until, workspace, warmUp } from "./command-line.ts";

beforeAll(warmUp);

const HEADER = "Date,Description,Amount\n";
const rows = (from: number, to: number, name = "SHOP"): string =>
  Array.from(
    { length: to - from },
    (_, i) => `2026-10-${String(1 + ((from + i) % 28)).padStart(2, "0")},${name} ${from + i},-${from + i + 1}.00\n`,
  ).join("");
const entries = async (dir: string) => (await cleared(dir, "verify", "--json")).json().entries;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("a program that holds its file open is waited for, however long it pauses, and named once", async () => {
  const dir = await workspace();
  const running = await start(dir);
  put(dir, { "rows.txt": rows(0, 200) });
  const written = shell(
    dir,
    `(printf 'Date,Description,Amount\\n'; sleep 1.5; head -n 76 rows.txt; sleep 2.5; tail -n +77 rows.txt) >import/slow.csv`,
  );
  await running.says(/import\/slow\.csv is still open for writing in .+ \(process \d+\)\./);
  await written;
  await running.says(/200 rows: 200 new/);
  await until(() => isThere(dir, "import/processed/slow.csv"));
  expect(running.said().match(/still open for writing/g)).toHaveLength(1);
  expect((await cleared(dir, "runs", "--json")).json()).toHaveLength(1);
  expect(await entries(dir)).toBe(200);
  await running.stop();
  await agrees(dir);
});

test("a file that grows in bursts is booked as it grows: in each longer version the known rows are recognized", async () => {
  const dir = await workspace();
  const running = await start(dir);
  writeFileSync(join(dir, "import/burst.csv"), HEADER);
  let at = 0;
  for (const pause of [50, 120, 1500, 80, 2500, 300, 900, 30]) {
    appendFileSync(join(dir, "import/burst.csv"), rows(at, (at += 25)));
    await sleep(pause);
    // What was booked has moved away: a program that opens the file by its name begins a new one, which is a statement of its own.
    if (!isThere(dir, "import/burst.csv")) writeFileSync(join(dir, "import/burst.csv"), HEADER + rows(0, at));
  }
  await until(() => !isThere(dir, "import/burst.csv"), 30_000);
  await until(async () => (await entries(dir)) === at);
  await running.stop();
  expect((await shell(dir, "git status --short")).stdout).toBe("");
  await agrees(dir);
});

test("text added after the move to processed/ brings the file back to be booked; without an owner, doctor and verify say so", async () => {
  const dir = await workspace();
  const running = await start(dir);
  put(dir, { "import/grows.csv": HEADER + rows(0, 76) });
  await until(() => isThere(dir, "import/processed/grows.csv"));
  // As a program of another user does, whose open files nobody sees.
  appendFileSync(join(dir, "import/processed/grows.csv"), rows(76, 200));
  await running.says(/import\/grows\.csv was extended after it was booked/, 30_000);
  await running.says(/200 rows: 124 new, 76 already in the books/);
  await until(() => isThere(dir, "import/processed/grows.csv"));
  await running.stop();
  expect((await cleared(dir, "verify")).code).toBe(0);
  expect(
    readdirSync(join(dir, "import/processed"))
      .map((name) => readFileSync(join(dir, "import/processed", name), "utf8"))
      .sort(),
  ).toEqual([HEADER + rows(0, 76), HEADER + rows(0, 200)]);
  expect((await shell(dir, "grep -h ^earlier import/receipts/*")).stdout).toMatch(/^earlier: [0-9a-f]{64}\n$/);

  appendFileSync(join(dir, "import/processed/grows..2.csv"), rows(200, 300));
  const writer = openSync(join(dir, "import/open.csv"), "w");
  const wrong = await cleared(dir, "verify");
  expect([wrong.code, wrong.stdout]).toEqual([
    2,
    expect.stringMatching(/import\/processed\/grows\.\.2\.csv FILE_UNFINISHED\n.*was changed after it was booked/),
  ]);
  writeSync(writer, HEADER);
  expect((await cleared(dir, "doctor")).stdout).toMatch(/ok +statement +open\.csv is still open for writing in .+ \(process \d+\)/);
  closeSync(writer);
  await shell(dir, "mv import/processed/grows..2.csv import/grows.csv");
  const [receipt] = (await cleared(dir, "import", "import/grows.csv", "--json")).json();
  expect(receipt).toMatchObject({ rows: 300, new: 100, known: 200 });
  expect(await entries(dir)).toBe(300);
  await agrees(dir);
});

test("two files of the same name, the second added while the first is booked, both survive", async () => {
  const dir = await workspace();
  const running = await start(dir);
  for (const [n, name] of ["FIRST", "SECOND", "THIRD"].entries()) {
    writeFileSync(join(dir, "next.csv"), HEADER + rows(10 * n, 10 * n + 10, name));
    await shell(dir, "mv next.csv import/statement.csv");
    await sleep(n === 0 ? 700 : 350);
  }
  await until(() => !isThere(dir, "import/statement.csv"));
  await until(async () => (await entries(dir)) >= 10);
  await running.stop();
  const kept = readdirSync(join(dir, "import/processed")).map((name) => readFileSync(join(dir, "import/processed", name), "utf8"));
  const receipts = readdirSync(join(dir, "import/receipts"));
  // Whatever was taken lies in processed/, byte for byte; what was replaced before it was taken was never whole.
  expect(kept).toHaveLength(receipts.length);
  expect(kept.join("")).toContain("THIRD");
  expect(await entries(dir)).toBe(10 * receipts.length);
  await agrees(dir);
});

test("a file that makes the script fail delays no other, gets a card with the place, and is imported once the script is repaired", async () => {
  const dir = await workspace();
  const script = readFileSync(join(dir, "agents/ingest.ts"), "utf8");
  await commit(dir, {
    "agents/ingest.ts": script.replace("const sure =", 'if (row.description === "BOOM") config_get("no.such.key");\n        const sure ='),
  });
  const running = await start(dir);
  put(dir, {
    "import/bad.csv": statement([["2026-10-02", "BOOM", "-4.50"]]),
    "import/good.csv": HEADER + rows(0, 5),
    "import/other.csv": HEADER + rows(5, 9),
  });
  await running.says(/good\.csv {2}generic/);
  await running.says(/other\.csv {2}generic/);
  const cards = async () => (await cleared(dir, "queue", "--json")).json().filter((card: { kind: string }) => card.kind === "row");
  await until(async () => (await cards()).length === 1);
  expect((await cards())[0]).toMatchObject({
    title: "bad.csv is not booked",
    body: { about: { message: expect.stringMatching(/^agents\/ingest\.ts:\d+:\d+: .*no\.such\.key/) } },
  });
  expect(await entries(dir)).toBe(9);
  // Nothing is tried again without a reason, and what comes later does not wait.
  const runs = async () => (await cleared(dir, "runs", "--json")).json().length;
  put(dir, { "import/late.csv": HEADER + rows(9, 12) });
  await running.says(/late\.csv {2}generic/);
  await sleep(1500);
  const before = await runs();
  await sleep(1500);
  expect(await runs()).toBe(before);
  await commit(dir, { "agents/ingest.ts": script });
  await running.says(/bad\.csv {2}generic/);
  await until(async () => (await cards()).length === 0);
  await until(() => isThere(dir, "import/processed/bad.csv"));
  expect(await entries(dir)).toBe(13);
  await running.stop();
  await agrees(dir);
});

test("a statement that contradicts the books is imported again after they have changed", async () => {
  const dir = await workspace();
  put(dir, {
    "december.csv": "Date,Description,Amount,Balance\n2026-12-01,AWS,-7.00,93.00\n2026-12-03,DROPBOX,-10.00,83.00\n",
    "other.csv": "Date,Description,Amount,Balance\n2026-12-02,HETZNER,-5.00,95.00\n",
  });
  await cleared(dir, "import", "december.csv");
  expect((await cleared(dir, "import", "other.csv", "--json")).json()).toMatchObject([
    { new: 0, refused: [{ line: 0, code: "JOURNAL_ASSERTION" }] },
  ]);
  const running = await start(dir);
  await shell(dir, "git revert --no-edit $(git log --format=%H --grep '^import: 2 transactions' | tail -1)");
  await running.says(/other\.csv {2}generic[\s\S]*1 row: 1 new/);
  expect(await entries(dir)).toBe(3);
  await running.stop();
  await agrees(dir);
});

test("a statement of 25,000 rows is imported in parts, within the default limits", async () => {
  const dir = await workspace();
  put(dir, { "many.csv": HEADER + rows(0, 25_000) });
  expect((await cleared(dir, "import", "many.csv", "--json")).json()).toMatchObject([{ rows: 25_000, new: 25_000, known: 0, refused: [] }]);
  expect((await cleared(dir, "runs", "--json")).json()).toHaveLength(3);
  expect(await entries(dir)).toBe(25_000);
  expect(readdirSync(join(dir, "import"))).not.toContain("many.csv");
});

test("a script that exceeds its limits gets fewer rows at once, until it succeeds", async () => {
  const dir = await workspace();
  const script = `/*
name: Daily Ingest
description: A call for each row
trigger: file_watch
watch: import/
uses: [importer, journal, git]
*/
for (const file of importer_scan()) {
  for (const row of importer_parse(file.name))
    journal_add_double({ date: row.date, description: row.description, debit_account: 5030, credit_account: 1010, amount: row.amount.slice(1), reference: row.reference });
  importer_mark_processed(file.name);
}
git_commit("import: statements");
`;
  await commit(dir, {
    "agents/ingest.ts": script,
    "trust.yaml": readFileSync(join(dir, "trust.yaml"), "utf8").replace("calls: 250000", "calls: 50"),
  });
  put(dir, { "many.csv": HEADER + rows(0, 120) });
  expect((await cleared(dir, "import", "many.csv", "--json")).json()).toMatchObject([{ rows: 120, new: 120, known: 0, refused: [] }]);
  expect(await entries(dir)).toBe(120);
  // Each entry is asked about, and no file.
  const kinds = (await cleared(dir, "queue", "--json")).json().map(({ kind }: { kind: string }) => kind);
  expect(kinds).toEqual(Array(120).fill("entry"));
  await agrees(dir);
});
