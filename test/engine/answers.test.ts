/** What a plugin answers that JSON does not have: the call fails with a code, or counts as nothing; the run always ends. */
import { afterAll, afterEach, expect, test } from "vitest";
import { closeAll, host, removeAll, run, workspace } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const PLUGIN = `import { definePrimitive, z } from "cleared";
const odd = (name, run) => definePrimitive({ name, effect: "read", access: "read", summary: "Odd.", params: z.object({}), returns: z.any(), errors: [], example: name + "({})", run });
export const odd_nothing = odd("odd_nothing", () => undefined);
export const odd_cycle = odd("odd_cycle", () => { const a = {}; a.a = a; return a; });
export const odd_bigint = odd("odd_bigint", () => 5n);
export const odd_thrower = odd("odd_thrower", () => ({ toJSON() { throw new Error("x"); } }));
`;
const agent = (name: string) => `/*\nname: ${name}\nuses: [odd]\n*/\nodd_${name}({})\n`;

test("an undefined result becomes null; a cycle, a BigInt and a toJSON that throws end in PLUGIN_FAILED", async () => {
  const names = ["nothing", "cycle", "bigint", "thrower"];
  const one = await workspace({
    "plugins/bank.ts": PLUGIN,
    ...Object.fromEntries(names.map((name) => [`agents/${name}.ts`, agent(name)])),
  });
  const opened = await host(one);
  const ends = [];
  for (const name of names) ends.push(await run(opened, name));
  expect(ends.map((end) => end.error?.code ?? end.result)).toEqual([null, "PLUGIN_FAILED", "PLUGIN_FAILED", "PLUGIN_FAILED"]);
});

test("limits of trust.yaml apply per agent: one is stopped, the other is not, and a long script needs its own source_bytes", async () => {
  const calls = '/*\nname: x\nuses: [ctx]\n*/\nfor (let i = 0; i < 5; i++) ctx_log("x");\n1\n';
  const long = `/*\nname: long\n*/\n// ${"x".repeat(70_000)}\n2\n`;
  const one = await workspace({ "agents/small.ts": calls, "agents/wide.ts": calls, "agents/long.ts": long, "agents/longer.ts": long });
  one.write(
    "trust.yaml",
    `${one.read("trust.yaml").replace(/^limits:[^\n]*(\n[ #][^\n]*)*/m, "")}\nlimits:\n  agents:\n    small: { calls: 3 }\n    long: { source_bytes: 100000 }\n`,
  );
  const opened = await host(one);
  const ends = [];
  for (const name of ["small", "wide", "long", "longer"]) ends.push(await run(opened, name));
  expect(ends.map((end) => end.error?.code ?? end.result)).toEqual(["LIMIT_CALLS", 1, 2, "SCRIPT_TOO_LARGE"]);
});
