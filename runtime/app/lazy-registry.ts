/**
 * The built-in primitives without their declarations: loading all of them takes a third of a short command's CPU, and a run calls few. The
 * first process that loads them caches which file declares which name; later ones load a file when something in it is called. The cached
 * list belongs to exactly the files it was made from, so it is never stale.
 */
import { readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Primitive } from "../kernel/primitive.ts";
import { type Registry, createRegistry } from "../kernel/registry.ts";
import type { DiskCache } from "../scripts/disk-cache.ts";

export type LazyRegistry = Awaited<ReturnType<typeof openRegistry>>;

/** By name: the file below primitives/, and the parameter of the short form. */
type Rows = Record<string, [file: string, bare: string | null]>;

const ROOT = fileURLToPath(new URL("../../primitives/", import.meta.url));

/** @throws PLUGIN_INVALID when two primitives have the same name */
export async function openRegistry(cache: DiskCache, plugins: readonly Primitive[]) {
  const files = filesOf(ROOT);
  const key = files.map(stampOf).join("\n");
  const kept = cache.get("primitives", key);
  const rows = kept === null ? await readRows(files) : (JSON.parse(kept) as Rows);
  if (kept === null) cache.put(JSON.stringify(rows), "primitives", key);
  const added = createRegistry([], plugins);
  let all: Promise<Registry> | null = null;
  /** With every declaration, for typings and lint. */
  const whole = () => (all ??= builtin().then((primitives) => createRegistry(primitives, plugins)));
  // The full registry reports which of the two has the name.
  if (plugins.some(({ name }) => Object.hasOwn(rows, name))) await whole();

  const load = async (name: string): Promise<Primitive> => {
    if (added.has(name)) return added.get(name);
    const file = Object.hasOwn(rows, name) ? rows[name]?.[0] : undefined;
    return (file === undefined ? undefined : (await loadFile(file))[name]) ?? (await whole()).get(name);
  };
  const loaded = new Map<string, Promise<Primitive>>();
  return {
    /** By name, the parameter of its short form, for every primitive in the order of docs/PRIMITIVES.md, plugins last. */
    globals: Object.fromEntries<string | null>([
      ...Object.entries(rows).map(([name, [, bare]]) => [name, bare] as const),
      ...plugins.map(({ name, bare }) => [name, bare] as const),
    ]),
    /** @throws PRIMITIVE_UNKNOWN with the nearest name */
    get: (name: string) => loaded.getOrInsertComputed(name, load),
    whole,
  };
}

async function builtin(): Promise<readonly Primitive[]> {
  return (await import("../../primitives/index.ts")).primitives;
}

async function loadFile(file: string): Promise<Record<string, Primitive | undefined>> {
  return (await import(pathToFileURL(join(ROOT, file)).href)) as Record<string, Primitive>;
}

async function readRows(files: readonly string[]): Promise<Rows> {
  const fileOf = new Map<unknown, string>();
  for (const file of files) for (const value of Object.values(await loadFile(file))) fileOf.set(value, file);
  return Object.fromEntries((await builtin()).map((one) => [one.name, [fileOf.get(one) ?? "index.ts", one.bare]]));
}

/** Source files below primitives/, relative to it. */
function filesOf(root: string): string[] {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" });
  return files.filter((file) => extname(file) === extname(import.meta.url)).sort();
}

/** Changes with the file: programs cannot set the ctime. */
function stampOf(file: string): string {
  const { ino, size, ctimeNs } = statSync(join(ROOT, file), { bigint: true });
  return `${file} ${ino} ${size} ${ctimeNs}`;
}
