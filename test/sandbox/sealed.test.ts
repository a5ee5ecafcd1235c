/** A tool's context serves call after call: nothing that one call can reach may hold what it leaves for the next. */
import { afterAll, expect, test } from "vitest";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { runScript } from "./corpus.ts";

const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

// Makes one of everything twice; what both reach is shared, and so stays for the next call.
const SYMBOL = `const ITERATOR = Object.getOwnPropertySymbols(Object.getPrototypeOf([])).find((one) => one.description === "Symbol.iterator");
const Symbol = ITERATOR.constructor;
const Promise = (async () => {})().constructor;
`;
const PROBE = `${SYMBOL}const thrown = (f) => { try { f() } catch (error) { return error } };
const make = () => [
  {}, [], "", 0, true, 1n, Object("a"), function () {}, () => 1, function* () {}, async () => {}, async function* () {}, class A { #p; static s = 1 }, { get a() { return 1 } },
  (function* () {})(), (async () => {})(), (async function* () {})(), new Map(), new Set(), new WeakMap(), new WeakSet(), new Date(0), /x(?<n>y)/dg, new Decimal(1),
  [].values(), new Map().keys(), new Set().keys(), "a"[ITERATOR](), "a".matchAll(/a/g), [].values().map((x) => x), [].values().flatMap((x) => [x]),
  /x(?<n>y)/d.exec("xy"), (function () { return arguments })(), (() => { "use strict"; return (function () { return arguments })() })(),
  new Error("e"), thrown(() => null.x), thrown(() => x), thrown(() => "a".repeat(-1)), thrown(() => decodeURIComponent("%")), thrown(() => new RegExp("(")), thrown(() => JSON.parse("{")),
  thrown(() => echo(() => 1)), thrown(() => +new Decimal(1)), thrown(() => new Decimal("x")), thrown(() => new Date().toLocaleString()), new Error("c", { cause: 1 }),
  Symbol("s"), ITERATOR, Symbol, Promise, Object.getOwnPropertyDescriptor({ get a() { return 1 } }, "a"), (() => {}).bind(null), ((a) => a)\`x\`.constructor, String.raw, Object.groupBy([1], () => "a"), Map.groupBy([1], () => "a"),
  Decimal.clone(), Decimal.max(1, 2), new Decimal(2).pow(2), new Decimal(0).exp(), new Decimal(1).ln(), new Decimal(1).abs(), Decimal.sum(1), new Decimal(2).clamp(1, 3),
];
const keysOf = (one) => [...Object.getOwnPropertyNames(one), ...Object.getOwnPropertySymbols(one)];
const walk = (root) => {
  const paths = new Map(); const seen = new Set();
  const visit = (one, path, depth) => {
    if ((typeof one !== "object" && typeof one !== "function") || one === null) { if (one !== null && one !== undefined) visit(Object.getPrototypeOf(one), path + "^", depth + 1); return; }
    if (seen.has(one) || depth > 12) return;
    seen.add(one); paths.set(path, one);
    visit(Object.getPrototypeOf(one), path + "^", depth + 1);
    for (const key of keysOf(one)) {
      const found = Object.getOwnPropertyDescriptor(one, key);
      for (const part of ["value", "get", "set"]) if (part in found) visit(found[part], path + "." + String(key) + ":" + part, depth + 1);
      try { visit(one[key], path + "." + String(key), depth + 1) } catch {}
    }
  };
  visit(root, "", 0);
  return paths;
};
const [first, second] = [walk(make()), walk(make())];
const shared = new Set(second.values());
const left = [];
for (const [path, one] of first) if (shared.has(one) && !Object.isFrozen(one)) left.push(path);
({ left, looked: shared.size > 300, first: first.size > 300 })`;

test("everything reachable from two calls is frozen", async () => {
  for (const _ of [1, 2]) {
    const { result, end } = await runScript(sandbox, PROBE, { sealed: true });
    expect(result, JSON.stringify(end)).toEqual({ left: [], looked: true, first: true });
  }
});

test("a context from a snapshot equals one made without it, down to the last builtin", async () => {
  const source = `${PROBE.slice(0, PROBE.indexOf("const [first, second]"))}
const flags = (one, key) => { const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(one, key); return String(key) + [writable, enumerable, configurable].map(Number).join("") };
[...walk([make(), Object, Array, Math, JSON, RegExp, Date, Decimal, console, echo])].map(([path, one]) => path + " " + Object.isExtensible(one) + " " + (typeof one === "function" ? one.length : "") + " " + keysOf(one).map((key) => flags(one, key)))`;
  const afresh = createSandbox({ slots: 1 });
  const all: unknown[] = [];
  for (let n = 0; n < 16; n++) all.push((await runScript(afresh, source)).result);
  await afresh.close();
  expect(all[0]).toHaveLength((all.at(-1) as unknown[]).length);
  for (const one of all) expect(one).toEqual(all[0]);
  expect((all[0] as unknown[]).length).toBeGreaterThan(700);
});

test("a run has only its own primitives, whatever earlier runs in the same child had", async () => {
  const source = "[typeof echo, typeof other, typeof console, typeof __give, typeof __enter, typeof __run]";
  const afresh = createSandbox({ slots: 1 });
  const seen = async (options: Parameters<typeof runScript>[2]) => (await runScript(afresh, source, options)).result;
  const rest = ["object", "undefined", "undefined", "function"];
  for (let n = 0; n < 16; n++) expect(await seen({})).toEqual(["function", "undefined", ...rest]);
  for (let n = 0; n < 3; n++) {
    expect(await seen({ primitives: { other: null } })).toEqual(["undefined", "function", ...rest]);
    expect(await seen({ primitives: {} })).toEqual(["undefined", "undefined", ...rest]);
    expect(await seen({ sealed: true, primitives: {} })).toEqual(["undefined", "undefined", ...rest]);
    expect(await seen({})).toEqual(["function", "undefined", ...rest]);
  }
  await afresh.close();
});

test("what one call writes anywhere, the next does not find", async () => {
  const source = `${SYMBOL}const error = new Error("x");
const { get, set } = Object.getOwnPropertyDescriptor(error, "stack");
const places = [get, set, Array.prototype, Object, Math, JSON, echo, console, Decimal, Symbol, Promise, (async () => {}).constructor, RegExp, Map.prototype.set].filter(Boolean);
const before = places.map((place) => place.left ?? null);
for (const place of places) { try { place.left = input.n } catch {} }
/(left)/.exec("left");
before.concat(RegExp.$1 ?? null, RegExp.lastMatch ?? null)`;
  for (const n of [1, 2, 3]) {
    const { result, end } = await runScript(sandbox, source, { sealed: true, input: { n } });
    expect(result, JSON.stringify(end)).toEqual(Array(16).fill(null));
  }
});
