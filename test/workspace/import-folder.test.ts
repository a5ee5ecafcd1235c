/**
 * The import folder: only whole regular files are taken, nothing outside can be read, and what was taken stays as it was. The folder's
 * clock is the test's, so that a pause of a writer costs no time; what processes have open and how disks count is real.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  closeSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filesIn, readImport } from "../../runtime/workspace/statements/import-files.ts";
import { createImportFolder, type ImportFolder } from "../../runtime/workspace/statements/import-folder.ts";

const SETTLE = 5000;
const ROWS = "Date,Description,Amount\n2026-11-01,COFFEE,-4.50\n";

let dir = "";
let now = 0;
let folder: ImportFolder;
const at = (name: string) => join(dir, "import", name);
const put = (name: string, text = ROWS) => writeFileSync(at(name), text);
const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const whole = async (name?: string) => (await folder.look(name)).whole.map((file) => file.name);
const why = async (name: string) => (await folder.look()).waiting.find((one) => one.name === name)?.why;
/** Names that are whole after nothing has happened for the time a file must stand. */
const wholeLater = async (ms = SETTLE) => {
  await folder.look();
  now += ms;
  return whole();
};

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "imports-"));
  mkdirSync(join(dir, "import/processed"), { recursive: true });
  mkdirSync(join(dir, "import/receipts"));
  now = 0;
  folder = createImportFolder(dir, { settleMs: () => SETTLE, now: () => now });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("a file is complete", () => {
  test("once it is unchanged for the time by a monotonic clock, however old its own times are", async () => {
    put("a.csv");
    utimesSync(at("a.csv"), 1, 1);
    expect(await whole()).toEqual([]);
    expect(await why("a.csv")).toBe("is still being written");
    now += SETTLE - 1;
    expect(await whole()).toEqual([]);
    now += 1;
    const [file] = (await folder.look()).whole;
    expect([file?.name, file?.size, file?.hash]).toEqual(["a.csv", ROWS.length, hash(ROWS)]);
    expect(file?.modified).toBe("1970-01-01T00:00:01.000Z");
  });

  test.each([300, 1000, 2500, 4900])("not while a writer that closes it each time pauses for %s ms", async (pause) => {
    put("a.csv");
    for (let n = 2; n < 20; n++) {
      expect(await whole()).toEqual([]);
      now += pause;
      appendFileSync(at("a.csv"), `2026-11-${String(n).padStart(2, "0")},COFFEE,-4.50\n`);
    }
    expect(await wholeLater()).toEqual(["a.csv"]);
  });

  test("not while somebody has it open for writing, however long; reported once it is known who", async () => {
    put("a.csv", "Date,Description,Amount\n");
    const writer = openSync(at("a.csv"), "a");
    try {
      for (let n = 0; n < 3; n++) {
        expect(await wholeLater(60_000)).toEqual([]);
        expect(await why("a.csv")).toMatch(new RegExp(`^is still open for writing in .+ \\(process ${process.pid}\\)$`));
      }
      writeSync(writer, "2026-11-01,COFFEE,-4.50\n");
      expect(await wholeLater(60_000)).toEqual([]);
    } finally {
      closeSync(writer);
    }
    expect(await wholeLater()).toEqual(["a.csv"]);
  });

  test("even if somebody reads it; not while it is open for writing under another name of the same file", async () => {
    put("a.csv");
    linkSync(at("a.csv"), join(dir, "outside.csv"));
    const reader = openSync(at("a.csv"), "r");
    expect(await wholeLater()).toEqual(["a.csv"]);
    closeSync(reader);
    appendFileSync(join(dir, "outside.csv"), "2026-11-02,TEA,-3.00\n");
    const writer = openSync(join(dir, "outside.csv"), "r+");
    expect(await wholeLater(60_000)).toEqual([]);
    closeSync(writer);
    expect(await wholeLater()).toEqual(["a.csv"]);
  });

  test("only after starting again when it is renamed into place, rewritten with the same size, or truncated and written again", async () => {
    put(".a.csv.Xy12", ROWS);
    expect(await wholeLater()).toEqual([]);
    renameSync(at(".a.csv.Xy12"), at("a.csv"));
    expect(await whole()).toEqual([]);
    expect(await wholeLater()).toEqual(["a.csv"]);
    put("a.csv", ROWS.replace("4.50", "5.40"));
    expect(await whole()).toEqual([]);
    expect(await wholeLater()).toEqual(["a.csv"]);
    truncateSync(at("a.csv"), 0);
    expect(await wholeLater()).toEqual([]);
    put("a.csv", `${ROWS}2026-11-02,TEA,-3.00\n`);
    expect(await wholeLater()).toEqual(["a.csv"]);
    expect((await folder.look()).whole[0]?.hash).toBe(hash(`${ROWS}2026-11-02,TEA,-3.00\n`));
  });

  test.each([
    ["a line of CSV", ROWS.slice(0, -5)],
    ["an amount that is whole as it stands", ROWS.trimEnd()],
    ["OFX", "OFXHEADER:100\n\n<OFX><STMTRS>\n"],
  ])("much later if it ends in the middle of %s", async (_, text) => {
    put("a.csv", text);
    expect(await wholeLater()).toEqual([]);
    expect(await why("a.csv")).toMatch(/^ends in the middle of a line/);
    now += 11 * SETTLE;
    expect(await whole()).toEqual(["a.csv"]);
  });

  test("as an empty file only if it stays empty: browsers put an empty file there during a download", async () => {
    put("empty.csv", "");
    expect(await wholeLater()).toEqual([]);
    expect(await why("empty.csv")).toBe("is empty: its content is still to come");
    now += 60_000;
    expect(await whole()).toEqual(["empty.csv"]);
  });

  test.each(["part", "crdownload", "aria2"])("not while its download is next to it with the ending .%s", async (ending) => {
    put("a.csv");
    put(`a.csv.${ending}`);
    expect(await wholeLater(600_000)).toEqual([]);
    rmSync(at(`a.csv.${ending}`));
    expect(await wholeLater()).toEqual(["a.csv"]);
  });
});

describe("what is never imported", () => {
  test("unfinished names, hidden files, links, folders and pipes; only those that a person must move are named", async () => {
    for (const name of [".gitkeep", ".a.csv.Xy12", "a.csv.part", "b.crdownload", "c.tmp", "d.csv~", "~$e.xlsx", "f.filepart"]) put(name);
    mkdirSync(at("folder.csv"));
    symlinkSync("/etc/passwd", at("link.csv"));
    execFileSync("mkfifo", [at("pipe.csv")]);
    writeFileSync(join(dir, "import/processed/old.csv"), "x");
    expect(await wholeLater()).toEqual([]);
    expect((await folder.look()).waiting.map(({ name, why: text }) => `${name} ${text}`)).toEqual([
      "folder.csv is a folder and is not read. Put the statement itself into import/",
      "link.csv is a link and is not read. Put the statement itself into import/",
      "pipe.csv is a named pipe and is not read. Put the statement itself into import/",
    ]);
  });

  test("without a folder there is nothing; a file in its place is an error", async () => {
    rmSync(join(dir, "import"), { recursive: true });
    expect(await whole()).toEqual([]);
    writeFileSync(join(dir, "import"), "x");
    await expect(whole()).rejects.toMatchObject({ code: "FILE_INVALID" });
  });
});

describe("an accepted file", () => {
  test("is read from a copy of its own, whatever becomes of the file", async () => {
    put("a.csv");
    await wholeLater();
    const [file] = (await folder.look()).whole;
    if (file === undefined) throw new Error("not whole");
    expect(await folder.take(file)).toBe(true);
    put("a.csv", "something else\n");
    expect((await folder.read(file)).toString()).toBe(ROWS);
    rmSync(at("a.csv"));
    expect((await folder.read(file)).toString()).toBe(ROWS);
    expect(readFileSync(join(dir, ".cleared/statements", file.hash), "utf8")).toBe(ROWS);
  });

  test("is not accepted if it has changed since the scan", async () => {
    put("a.csv");
    await wholeLater();
    const [file] = (await folder.look()).whole;
    if (file === undefined) throw new Error("not whole");
    put("a.csv", "something else\n");
    expect(await folder.take(file)).toBe(false);
    await expect(folder.read(file)).rejects.toMatchObject({ code: "FILE_MISSING" });
  });

  test("a damaged copy is never read for the statement", async () => {
    put("a.csv");
    const copy = await folder.keep(Buffer.from(ROWS));
    writeFileSync(join(dir, ".cleared/statements", copy), "damaged");
    expect((await folder.read({ name: "a.csv", hash: copy, size: 1, modified: "" })).toString()).toBe(ROWS);
  });

  test("a file over the limit is recognized by name, size and time, without reading it", async () => {
    put("big.csv");
    truncateSync(at("big.csv"), 200 * 1024 * 1024);
    expect(await wholeLater()).toEqual(["big.csv"]);
    const [file] = (await folder.look()).whole;
    if (file === undefined) throw new Error("not found");
    expect(await folder.take(file)).toBe(true);
    await expect(folder.read(file)).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
  });
});

describe("a file named by a script", () => {
  test("is waited for while it settles, and refused while it is written", async () => {
    // It is looked for twice as long as it must stand: a look itself may take 50 ms on a busy machine.
    const real = createImportFolder(dir, { settleMs: () => 250 });
    put("a.csv");
    expect(await real.find("a.csv")).toMatchObject({ name: "a.csv", hash: hash(ROWS) });
    const writer = openSync(at("a.csv"), "a");
    await expect(real.find("a.csv")).rejects.toMatchObject({ code: "FILE_UNFINISHED" });
    closeSync(writer);
  });

  test.each(["../secret", "/etc/passwd", "processed/old.csv", "a\\b", "a\0b", "", ".", ".."])("cannot be the path %j", async (name) => {
    await expect(readImport(dir, name)).rejects.toMatchObject({ code: "FILE_INVALID" });
  });

  test("a folder, a link and a pipe are refused at once, a missing file by its name", async () => {
    mkdirSync(at("folder.csv"));
    symlinkSync("/etc/passwd", at("link.csv"));
    execFileSync("mkfifo", [at("pipe.csv")]);
    for (const name of ["folder.csv", "link.csv", "pipe.csv"])
      await expect(readImport(dir, name)).rejects.toMatchObject({ code: "FILE_INVALID", at: { file: `import/${name}` } });
    await expect(readImport(dir, "none.csv")).rejects.toMatchObject({ code: "FILE_MISSING" });
  });
});

test("the files of a folder are listed with their content's hash, by name", async () => {
  put("ä b.csv", "text");
  put("a.csv", "a");
  put("a.csv", "b");
  expect((await filesIn(dir, "import/")).map(({ name, hash: content }) => [name, content])).toEqual([
    ["a.csv", hash("b")],
    ["ä b.csv", hash("text")],
  ]);
});
