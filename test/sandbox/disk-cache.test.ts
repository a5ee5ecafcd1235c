/** What is kept between processes: used when it is whole, made again when it is torn, changed or came from elsewhere. */
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createDiskCache } from "../../runtime/scripts/disk-cache.ts";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { parseConfig } from "../../runtime/workspace/settings/config.ts";

const root = mkdtempSync(join(tmpdir(), "cleared-cache-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const folder = (name: string) => join(root, name);
const only = (dir: string) => join(dir, readdirSync(dir)[0] ?? "");

test("the next process finds what one process stored, only under the same key", () => {
  createDiskCache(folder("a"), "mine").put("text\nof two lines", "kind", "key");
  const next = createDiskCache(folder("a"), "mine");
  expect(next.get("kind", "key")).toBe("text\nof two lines");
  expect(next.get("kindkey")).toBeNull();
  expect(next.get("kind", "other")).toBeNull();
});

test("a torn or changed entry is not used, nor one copied from another folder", () => {
  const kept = folder("b");
  createDiskCache(kept, "mine").put("the text", "key");
  cpSync(kept, folder("copy"), { recursive: true });
  expect(createDiskCache(folder("copy"), "mine").get("key")).toBeNull();
  const file = only(kept);
  const whole = readFileSync(file, "utf8");
  expect(createDiskCache(kept, "theirs").get("key")).toBeNull();
  for (const bad of ["", whole.slice(0, -1), whole.replace("the text", "my text!"), `${"0".repeat(64)}\nthe text`]) {
    writeFileSync(file, bad);
    expect(createDiskCache(kept, "mine").get("key")).toBeNull();
  }
});

test("a cache that cannot be written or read changes nothing", () => {
  writeFileSync(folder("file"), "");
  const cache = createDiskCache(join(folder("file"), "cache"), "mine");
  cache.put("x", "key");
  expect(cache.get("key")).toBeNull();
  expect(parseConfig("business: {name: Acme}", cache).business.name).toBe("Acme");
});

test("a script compiled by one process runs in the next without a parser, with the same result", async () => {
  const source = "const n: number = 20;\nn * 2 + 2";
  const options = { file: "agents/a.ts", blob: "b1", lint: true, primitives: ["echo"] };
  const compile = async () => {
    const sandbox = createSandbox({ cache: createDiskCache(folder("c"), "mine") });
    const compiled = await sandbox.compile(source, options);
    await sandbox.close();
    return compiled;
  };
  const first = await compile();
  expect(readdirSync(folder("c"))).toHaveLength(1);
  expect(await compile()).toEqual(first);
  writeFileSync(only(folder("c")), "garbage");
  expect(await compile()).toEqual(first);
});

test("a cached setting is validated like one read from the file, and its error has its place", () => {
  const cache = createDiskCache(folder("d"), "mine");
  const text = "business: {name: Acme}\nbranchh: x\n";
  const refusal = () => {
    try {
      return parseConfig(text, cache);
    } catch (error) {
      return error;
    }
  };
  const first = refusal();
  expect(refusal()).toEqual(first);
  expect(first).toMatchObject({ code: "CONFIG_INVALID", at: { line: 2 } });
});
