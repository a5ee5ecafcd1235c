/** The table of codes and the source agree both ways, and the generated documents say what the source says. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { CODES, toWire } from "../../runtime/kernel/errors.ts";
import { errorsDoc, primitivesDoc } from "../../tools/docs-pages.ts";

const root = join(import.meta.dirname, "../..");

async function sources(): Promise<string> {
  const texts: string[] = [];
  for (const folder of ["runtime", "primitives"]) {
    const names = (await readdir(join(root, folder), { recursive: true })).filter(
      (name) => /\.(ts|js)$/.test(name) && name !== "errors.ts",
    );
    for (const name of names) texts.push(await readFile(join(root, folder, name), "utf8"));
  }
  return texts.join("\n");
}

it("every code in the table is used, and every used code is in the table", async () => {
  const source = await sources();
  const used = new Set([...source.matchAll(/"([A-Z]+(?:_[A-Z]+)*)"/g)].map((match) => match[1] ?? ""));
  expect(Object.keys(CODES).filter((code) => !used.has(code))).toEqual([]);
  const raised = [...source.matchAll(/(?:ClearedError\(\s*|code: )"([A-Z_]+)"/g)].map((match) => match[1] ?? "");
  expect([...new Set(raised)].filter((code) => !Object.hasOwn(CODES, code))).toEqual([]);
});

it("a path refused by the system is for the person to correct, not an internal error", async () => {
  const refused = await readdir(import.meta.filename).catch((error: unknown) => error);
  expect(toWire(refused)).toMatchObject({
    code: "FILE_INVALID",
    message: expect.stringMatching(/codes\.test\.ts cannot be used \(ENOTDIR\)\. /),
  });
  expect(toWire(new Error("broken"))).toEqual({ code: "INTERNAL", message: "broken" });
});

it("every code says what went wrong and what to do, in sentences", () => {
  for (const [code, row] of Object.entries(CODES)) {
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    expect(row.means, code).toMatch(/\.$/);
    expect(row.remedy, code).toMatch(/\.$/);
  }
});

it("docs/ERRORS.md and docs/PRIMITIVES.md match what the source generates", async () => {
  expect(await readFile(join(root, "docs/ERRORS.md"), "utf8")).toBe(errorsDoc());
  expect(await readFile(join(root, "docs/PRIMITIVES.md"), "utf8")).toBe(primitivesDoc(primitives));
});
