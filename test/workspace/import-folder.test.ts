/** The import folder: only whole regular files are seen, nothing outside can be read, and each statement finds its account. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bankAccounts, matchAccount, readImport, scanImports, settingsFor } from "../../runtime/workspace/imports.ts";

let dir = "";
const put = (name: string, text = "x") => writeFileSync(join(dir, "import", name), text);
const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const names = async (known: string[] = []) => (await scanImports(dir, new Set(known))).map((file) => file.name);

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "imports-"));
  mkdirSync(join(dir, "import/processed"), { recursive: true });
  mkdirSync(join(dir, "import/receipts"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("scan", () => {
  test("lists whole regular files by name, with their hash", async () => {
    put("b.csv", "bb");
    put("a.csv", "a");
    const found = await scanImports(dir, new Set());
    expect(found.map(({ name, size, hash: content }) => [name, size, content])).toEqual([
      ["a.csv", 1, hash("a")],
      ["b.csv", 2, hash("bb")],
    ]);
    expect(found[0]?.modified).toMatch(/^\d{4}-\d\d-\d\dT/);
  });

  test("leaves out what is unfinished, hidden, linked, a folder, a pipe or just begun", async () => {
    for (const name of [".gitkeep", "a.csv.part", "b.crdownload", "c.tmp", "d.csv~"]) put(name);
    put("empty.csv", "");
    mkdirSync(join(dir, "import/folder.csv"));
    symlinkSync("/etc/passwd", join(dir, "import/link.csv"));
    execFileSync("mkfifo", [join(dir, "import/pipe.csv")]);
    writeFileSync(join(dir, "import/processed/old.csv"), "x");
    expect(await names()).toEqual([]);
  });

  test("an empty file that stays empty is listed, so that somebody is told", async () => {
    put("empty.csv", "");
    utimesSync(join(dir, "import/empty.csv"), 1, 1);
    expect(await names()).toEqual(["empty.csv"]);
  });

  test("a content that has a receipt is known under any name", async () => {
    put("a.csv", "same");
    put("b.csv", "same");
    put("c.csv", "other");
    expect(await names([hash("same")])).toEqual(["c.csv"]);
  });

  test("a changed file is seen with its new hash", async () => {
    put("a.csv", "1");
    await names();
    put("a.csv", "2");
    expect((await scanImports(dir, new Set()))[0]?.hash).toBe(hash("2"));
  });

  test("a file over the limit is listed without being read", async () => {
    put("big.csv");
    truncateSync(join(dir, "import/big.csv"), 200 * 1024 * 1024);
    const start = performance.now();
    expect(await names()).toEqual(["big.csv"]);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  test("without a folder there is nothing; a file in its place is an error", async () => {
    rmSync(join(dir, "import"), { recursive: true });
    expect(await names()).toEqual([]);
    writeFileSync(join(dir, "import"), "x");
    await expect(names()).rejects.toMatchObject({ code: "FILE_INVALID" });
  });
});

describe("read", () => {
  test("answers the bytes and their hash", async () => {
    put("ä b.csv", "text");
    const { bytes, hash: content } = await readImport(dir, "ä b.csv");
    expect([bytes.toString(), content]).toEqual(["text", hash("text")]);
  });

  test.each(["../secret", "/etc/passwd", "processed/old.csv", "a\\b", "a\0b", "", ".", ".."])("refuses the path %j", async (name) => {
    await expect(readImport(dir, name)).rejects.toMatchObject({ code: "FILE_INVALID" });
  });

  test("a folder, a link and a pipe are refused at once, a missing file by its name", async () => {
    mkdirSync(join(dir, "import/folder.csv"));
    symlinkSync("/etc/passwd", join(dir, "import/link.csv"));
    execFileSync("mkfifo", [join(dir, "import/pipe.csv")]);
    for (const name of ["folder.csv", "link.csv", "pipe.csv"])
      await expect(readImport(dir, name)).rejects.toMatchObject({ code: "FILE_INVALID", at: { file: `import/${name}` } });
    await expect(readImport(dir, "none.csv")).rejects.toMatchObject({ code: "FILE_MISSING" });
  });

  test("200 MB are refused by size", async () => {
    put("big.csv");
    truncateSync(join(dir, "import/big.csv"), 200 * 1024 * 1024);
    await expect(readImport(dir, "big.csv")).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
  });
});

describe("account", () => {
  const rules = [
    { match: { bank_account: "NL28INGB1200324416" }, account: "1020" },
    { match: { file: "chase*.csv" }, account: "1010", dialect: "chase-checking" },
    { match: { file: "card-????.csv", bank_account: "77" }, account: "2010" },
  ];
  const account = (file: string, bankAccount: string | null, banks = ["1010", "1020"]) => matchAccount(rules, banks, { file, bankAccount });

  test("the first rule whose conditions all hold names it", () => {
    expect(account("x.csv", "NL28 INGB 1200 3244 16")).toBe("1020");
    expect(account("chase-2025.csv", null)).toBe("1010");
    expect(account("card-1234.csv", "77")).toBe("2010");
    expect(settingsFor(rules, "chase-2025.csv").dialect).toBe("chase-checking");
    expect(settingsFor(rules, "other.csv").dialect).toBeUndefined();
  });

  test("without a rule it is the only bank account, else an error that says what to write", () => {
    expect(account("other.csv", null, ["1010"])).toBe("1010");
    expect(() => account("card-1234.csv", "78")).toThrow('match: { bank_account: "78" }');
    expect(() => account("other.csv", null)).toThrow(
      'the chart has 2 bank accounts (1010, 1020). Add to config.yaml under statements: - match: { file: "other.csv" }',
    );
    expect(() => account("other.csv", null, [])).toThrow("no account below Assets:Bank");
  });

  test("bank accounts are assets below Assets:Bank", () => {
    expect(
      bankAccounts([
        { id: "1010", name: "Assets:Bank:Checking", type: "asset" },
        { id: "1200", name: "Assets:Receivable", type: "asset" },
        { id: "5010", name: "Expenses:Bank:Fees", type: "expense" },
      ]),
    ).toEqual(["1010"]);
  });

  test("no file pattern costs time", () => {
    const start = performance.now();
    settingsFor([{ match: { file: "*a".repeat(500) }, account: "1", dialect: "x" }], "a".repeat(5000));
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
