/** What a person reads before they confirm trust.yaml is all that it gives away. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cleared, put, workspace } from "../cli/command-line.ts";

test("what `cleared trust` shows names each right that trust.yaml gives, and a changed one is marked", async () => {
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

test("an agent elsewhere is shown with its address, its token, and the skills nobody is asked about", async () => {
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
