/** Plugins of a workspace: real files, imported as the product imports them. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { callPrimitive } from "../../runtime/kernel/primitive.ts";
import { createRegistry, loadPlugins } from "../../runtime/kernel/registry.ts";
import { memory } from "./memory-ports.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "cleared-plugins-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function put(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(dir, file)), { recursive: true });
  await writeFile(join(dir, file), text);
}

const declare = (name: string, rest: string): string => `import { definePrimitive, z } from "cleared";
export const ${name} = definePrimitive({ name: "${name}", effect: "read", access: "read", summary: "Test.", params: z.object({ x: z.any() }), returns: z.any(), errors: [], example: "${name}(1)", ${rest} });
`;

it("a TypeScript plugin is loaded, knows its file and accepts its short form", async () => {
  await put("plugins/echo.ts", declare("echo", "run: (p: { x: unknown }) => p.x"));
  const registry = createRegistry(primitives, await loadPlugins(dir, ["plugins/echo.ts"]));
  const echo = registry.get("echo");
  expect([echo.plugin, echo.bare, echo.domain]).toEqual(["plugins/echo.ts", "x", "echo"]);
  expect(await callPrimitive(echo, { x: [1, "a"] }, memory().ctx)).toEqual([1, "a"]);
  expect(registry.domains()).toContain("echo");
  expect(registry.names().at(-1)).toBe("echo");
});

it("a declaration without access uses the row of its effect, and one without errors has none", async () => {
  await put("plugins/short.ts", declare("short", "run: () => 1").replace(' access: "read",', "").replace(" errors: [],", ""));
  expect((await loadPlugins(dir, ["plugins/short.ts"]))[0]).toMatchObject({ access: "read", errors: [] });
});

it.each<[string, string, RegExp]>([
  ["plugins/syntax.ts", "export const = 1", /^Plugin plugins\/syntax\.ts: /],
  ["plugins/throws.ts", 'throw new Error("no database")', /no database\.$/],
  ["plugins/import.ts", 'import "no-such-package-here"', /no-such-package-here/],
  ["plugins/empty.ts", "const x = 1", /exports no primitive/],
  ["plugins/function.ts", "export function pay_now() {}", /its export "pay_now" is not a primitive/],
  ["plugins/bare.ts", 'export const pay_now = { name: "pay_now" }', /declare it with definePrimitive/],
  ["plugins/name.ts", declare("pay_now", "run: () => 1").replace("const pay_now", "const pay_later"), /declares the name "pay_now"/],
  ["plugins/case.ts", declare("payNow", "run: () => 1"), /"payNow" is not a primitive's name/],
  ["plugins/effect.ts", declare("pay_now", "run: () => 1").replace('"read"', '"external"'), /acts outside and has no dryRun/],
  ["plugins/effects.ts", declare("pay_now", "run: () => 1").replace('"read"', '"sideways"'), /effect "sideways"; it must be one of/],
  [
    "plugins/access.ts",
    declare("pay_now", "run: () => 1").replace('access: "read"', 'access: "reed"'),
    /access "reed"; `access:` must be one of/,
  ],
  // A control primitive has no row of its effect's name, so it says which.
  ["plugins/row.ts", declare("pay_now", "run: () => 1").replace('"read", access: "read"', '"control"'), /access "control"; `access:` must/],
])("%s is refused with its file and the reason", async (file, text, says) => {
  await put(file, text);
  await expect(loadPlugins(dir, [file])).rejects.toMatchObject({
    code: "PLUGIN_INVALID",
    message: expect.stringMatching(says),
    at: { file },
  });
});

it("a plugin outside the workspace, behind a link out of it, missing, or of another kind is refused", async () => {
  const outside = await mkdtemp(join(tmpdir(), "cleared-outside-"));
  await writeFile(join(outside, "evil.ts"), declare("evil", "run: () => 1"));
  await symlink(join(outside, "evil.ts"), join(dir, "link.ts"));
  await put("data.json", "{}");
  await mkdir(join(dir, "folder.ts"));
  const cases = [
    join("..", outside.split("/").at(-1) ?? "", "evil.ts"),
    join(outside, "evil.ts"),
    "link.ts",
    "missing.ts",
    "data.json",
    "folder.ts",
  ];
  for (const file of cases) await expect(loadPlugins(dir, [file]), file).rejects.toMatchObject({ code: "PLUGIN_INVALID" });
  await rm(outside, { recursive: true });
});

it("a name used by a built-in primitive or another plugin is refused", async () => {
  await put("a.ts", declare("ctx_log", "run: () => 1"));
  const clash = await loadPlugins(dir, ["a.ts"]);
  expect(() => createRegistry(primitives, clash)).toThrow("a.ts exports ctx_log, but a built-in primitive has that name");
  await put("b.ts", declare("pay_now", "run: () => 1"));
  await put("c.ts", declare("pay_now", "run: () => 1"));
  const twice = await loadPlugins(dir, ["b.ts", "c.ts"]);
  expect(() => createRegistry(primitives, twice)).toThrow("c.ts exports pay_now, but b.ts also has that name");
});

it("a plugin that throws, returns garbage or hangs fails only its call", async () => {
  await put(
    "bad.ts",
    `${declare("bad_throw", 'run: () => { throw new Error("boom"); }')}${declare("bad_shape", "run: () => ({})")
      .replace(/^import.*\n/, "")
      .replace(
        "returns: z.any()",
        "returns: z.number()",
      )}${declare("bad_hang", "timeoutMs: 50, run: () => new Promise(() => {})").replace(/^import.*\n/, "")}`,
  );
  const registry = createRegistry(primitives, await loadPlugins(dir, ["bad.ts"]));
  const call = (name: string) => callPrimitive(registry.get(name), { x: 1 }, memory().ctx);
  await expect(call("bad_throw")).rejects.toMatchObject({ code: "PLUGIN_FAILED", message: "bad_throw (bad.ts) threw: boom" });
  await expect(call("bad_shape")).rejects.toMatchObject({ code: "PLUGIN_FAILED" });
  await expect(call("bad_hang")).rejects.toMatchObject({
    code: "PRIMITIVE_TIMEOUT",
    message: "bad_hang (bad.ts) did not answer within 0.05 s.",
  });
});

it("an unknown primitive is refused with the nearest one", () => {
  expect(() => createRegistry(primitives).get("journal_add_duoble")).toThrow(
    'There is no primitive "journal_add_duoble". Did you mean "journal_add_double"?',
  );
});
