/** What a person reads before they confirm trust.yaml is all that it gives away. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cleared, put, workspace } from "../cli/command-line.ts";

test("`cleared trust` names each right that trust.yaml grants, and marks changed ones", async () => {
  const dir = await workspace();
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8").replace(/^mcp: \{\}.*\n(?: {2}#.*\n)*/m, "");
  const servers = (kind: string) => `mcp:
  erp:
    url: https://erp.example/mcp
    oauth: {client_id: me, client_secret: "secret:oauth", token_url: "https://tokens.example/t"}
    aliases: {get_old: [get_new]}
    tools:
      pay: {class: ${kind}, verify: {read: get_bill}, undo: {agent: take_back, input: {id: "$id"}}}
`;
  put(dir, { "trust.yaml": trust + servers("mutate") });
  const first = (await cleared(dir, "trust", "--accept-trust")).stdout;
  for (const one of ["tokens.example", "get_new", "mutate", "get_bill", "take_back", '"id":"$id"']) expect(first).toContain(one);
  put(dir, { "trust.yaml": trust + servers("read") });
  const again = (await cleared(dir, "trust", "--accept-trust")).stdout;
  expect(again).toMatch(/^\+ .*erp\/pay.*"read".*nobody is asked/m);
  expect(again).toMatch(/^- .*erp\/pay.*"mutate"/m);
});

test("a remote agent is shown with its address, its token, and the skills nobody is asked about", async () => {
  const dir = await workspace();
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8").replace(/^a2a: \{\}.*$/m, "");
  const agent = (more: string) => `\na2a: {treasury: {url: "https://treasury.example", token: "secret:treasury"${more}}}\n`;
  put(dir, { "trust.yaml": trust + agent("") });
  const first = (await cleared(dir, "trust", "--accept-trust")).stdout;
  expect(first).toMatch(/gives tasks to the agent treasury at https:\/\/treasury\.example, with secret:treasury$/m);
  put(dir, { "trust.yaml": trust + agent(", skills: {pay: read}, idempotent: true") });
  const again = (await cleared(dir, "trust", "--accept-trust")).stdout;
  expect(again).toMatch(/^\+ .*treasury.*skills pay .*nobody is asked before a call; a message is sent to it again/m);
});

test("a profile is shown with its limit and the parameters it ignores", async () => {
  const dir = await workspace();
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8").replace(/^approvals:\n(?: {2}.*\n)+/m, "");
  const profile = '{mode: auto, up_to: "50.00", currency: USD, fields: [cost_center, memo_code]}';
  put(dir, { "trust.yaml": `${trust}\napprovals: {agents: {pay: ${profile}}}\n` });
  const shown = (await cleared(dir, "trust", "--accept-trust")).stdout;
  expect(shown).toContain("gates of pay up to 50.00 USD are answered by auto, without a person, whatever cost_center, memo_code say");
});

test("a role that an unconfirmed trust.yaml would set is shown as such, as is one that nothing sets", async () => {
  const dir = await workspace();
  const text = (file: string) => readFileSync(join(dir, file), "utf8");
  const trust = text("trust.yaml").replace(/^models: \{\}.*$/m, "models: {near: {backend: scripted, file: answers.yaml}}");
  put(dir, { "trust.yaml": trust, "config.yaml": `${text("config.yaml")}models: {small: near/small-1, large: none/large-1}\n` });
  const listed = async (): Promise<{ servers: object[]; roles: object[] }> => (await cleared(dir, "models", "--json")).json() as never;
  const none = { role: "large", model: null, origin: expect.stringContaining("trust.yaml names no server for it") };
  const why = /trust\.yaml.* has changed .*, so near\/small-1 is not asked\. `cleared trust`/;
  const before = await listed();
  expect(before.roles.slice(0, 2)).toEqual([{ role: "small", model: null, origin: expect.stringMatching(why) }, none]);
  expect(before.servers).toMatchObject([{ name: "near", origin: "trust.yaml, not confirmed" }]);
  expect((await cleared(dir, "doctor")).stdout).toMatch(/model small +trust\.yaml.* so near\/small-1 is not asked/);
  await cleared(dir, "trust", "--accept-trust");
  const after = await listed();
  expect(after.roles.slice(0, 2)).toEqual([{ role: "small", model: "near/small-1", origin: "config.yaml models.small" }, none]);
  expect(after.servers).toMatchObject([{ name: "near", origin: "trust.yaml" }]);
});

test("a change of trust.yaml or its code is never shown as none: values given to a server, what the words leave out, an order", async () => {
  const dir = await workspace();
  const text = readFileSync(join(dir, "trust.yaml"), "utf8").replace(/^mcp: \{\}.*\n(?: {2}#.*\n)*/m, "");
  const key = /key: (\S+)/.exec(text)?.[1] ?? "";
  const [ann, ben] = ["A", "B"].map((letter) => `- {name: ${letter}nn, key: ${key.slice(0, -3)}${letter}${letter === "A" ? "A" : "E"}=}`);
  const shown = async (server: string, people = [ann, ben]) => {
    const file = text.replace(/^people:\n.*\n.*$/m, `people:\n  ${people.join("\n  ")}`);
    put(dir, { "trust.yaml": `${file}\nmcp: {s: {command: node, args: [srv/main.mjs], ${server}}}\n`, "srv/main.mjs": "1;\n" });
    return (await cleared(dir, "trust", "--accept-trust")).stdout;
  };
  const first = await shown("env: {NODE_OPTIONS: --max-old-space-size=512, TOKEN: 'secret:one'}");
  expect(first).toMatch(/starts node srv\/main\.mjs .*NODE_OPTIONS=--max-old-space-size=512, TOKEN=secret:one$/m);
  const run = "--import=data:text/javascript,run()";
  const env = await shown(`env: {NODE_OPTIONS: '${run}', TOKEN: 'secret:one'}`);
  expect(env).toContain(`NODE_OPTIONS='${run}'`);
  expect(env).toMatch(/^\+ starts node/m);
  expect(env).toMatch(/^- starts node .*=512/m);
  expect(await shown(`env: {NODE_OPTIONS: '${run}'}, timeout_ms: 5000`)).toMatch(/^\+ trust\.yaml: mcp\.s\.timeout_ms: 5000$/m);
  expect(await shown(`env: {NODE_OPTIONS: '${run}'}, timeout_ms: 5000`, [ben, ann])).toMatch(/^\+ trust\.yaml: people\.0\.name: "Bnn"$/m);
  expect(await shown(`env: {NODE_OPTIONS: '${run}'}, timeout_ms: 5000`, [ben, ann])).toMatch(/has confirmed here/);
  put(dir, { "srv/main.mjs": "2;\n" });
  expect((await cleared(dir, "trust", "--accept-trust")).stdout).toMatch(/^\+ code srv\/main\.mjs [0-9a-f]{64}$/m);
});
