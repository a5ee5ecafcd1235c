/** Primitives that are loaded one file at a time are the same ones, in the same order, with the same refusals. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { openRegistry } from "../../runtime/app/lazy-registry.ts";
import type { Primitive } from "../../runtime/kernel/primitive.ts";
import { createDiskCache } from "../../runtime/scripts/disk-cache.ts";

const cache = createDiskCache(mkdtempSync(join(tmpdir(), "cleared-registry-")), "mine");
const plugin = (name: string): Primitive => ({ ...(primitives[0] as Primitive), name, plugin: "plugins/mine.ts" });

test("the first process and the next ones list every primitive in order, and load the declared one", async () => {
  for (const _ of ["first", "next"]) {
    const registry = await openRegistry(cache, []);
    expect(Object.entries(registry.globals)).toEqual(primitives.map(({ name, bare }) => [name, bare]));
    for (const primitive of primitives) expect(await registry.get(primitive.name)).toBe(primitive);
    expect((await registry.whole()).all()).toEqual(primitives);
  }
});

test("an unknown name is refused with the nearest one, and inherited properties of objects are not names", async () => {
  const registry = await openRegistry(cache, []);
  await expect(registry.get("journal_ad")).rejects.toThrow(/There is no primitive "journal_ad"\. Did you mean "journal_add/);
  for (const name of ["constructor", "__proto__", "toString"])
    await expect(registry.get(name)).rejects.toMatchObject({ code: "PRIMITIVE_UNKNOWN" });
});

test("a plugin's primitive comes last, and one with a taken name is refused", async () => {
  const registry = await openRegistry(cache, [plugin("mine_do")]);
  expect(Object.keys(registry.globals).at(-1)).toBe("mine_do");
  expect((await registry.get("mine_do")).plugin).toBe("plugins/mine.ts");
  await expect(openRegistry(cache, [plugin("journal_add")])).rejects.toMatchObject({ code: "PLUGIN_INVALID" });
  await expect(openRegistry(cache, [plugin("mine_do"), plugin("mine_do")])).rejects.toMatchObject({ code: "PLUGIN_INVALID" });
});
