/** Refs of proposals that Cleared did not write: never believed, whatever they hold, and never a burden. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { createProposals, type ProposalStore } from "../../runtime/change/proposals/store.ts";
import type { ProposalDraft } from "../../runtime/change/proposal-types.ts";
import { type Workspace, closeAll, host, removeAll, workspace } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const draft = (text: string, more: Partial<ProposalDraft> = {}): ProposalDraft => ({
  title: "AWS is Software",
  reason: "It was booked as supplies.",
  by: "Pat",
  files: { "agents/hello.ts": text },
  ...more,
});
const script = (n: number) => `/*\nname: Hello\n*/\n${n}\n`;

async function opened(): Promise<{ one: Workspace; owner: Host; store: ProposalStore; base: string }> {
  const one = await workspace({ "agents/hello.ts": script(0) });
  const owner = await host(one);
  return { one, owner, store: createProposals(owner), base: await owner.git.head() };
}

const life = "state: ready\nwhy: null\nby: Pat\nat: 1700000000000\napplied: null\nreverted: null\n";

it("are listed as unreadable with the reason, and do no harm", async () => {
  const { one, store, base } = await opened();
  const good = (await store.create(draft(script(1)), base)).proposal;
  await store.update(good.id, { state: "ready" }, { from: ["draft"] });
  const input = (text: string, ...args: string[]) => execFileSync("git", args, { cwd: one.dir, input: text, encoding: "utf8" }).trim();
  const blob = input("x", "hash-object", "-w", "--stdin");
  const commit = (tree: string, message: string, ...parents: string[]) =>
    input(message, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]));
  const message = (id: string) => `t\n\nProposal: ${id}\nProposed-by: Pat\n`;
  const tree = one.git("rev-parse", "HEAD^{tree}").trim();
  const link = input(`120000 blob ${blob}\tagents\n`, "mktree");
  const module = input(`160000 commit ${base}\tscripts\n`, "mktree");
  // Written past git's own checks, as a foreign program could.
  const loose = (type: string, bytes: Buffer) => input(bytes.toString("latin1"), "hash-object", "-w", "--literally", "-t", type, "--stdin");
  const entry = (name: string) => loose("tree", Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, "hex")]));
  const ids = "ABCDEFGHJKMNPQRSTV".split("").map((sign) => `prop_${sign.repeat(10)}`);
  const put = (name: string, content: string) => {
    const file = join(one.dir, ".git/refs/cleared/proposals", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  };
  const state = (files: string) => commit(input(files, "mktree"), "s\n");
  const yaml = (text: string) => `100644 blob ${input(text, "hash-object", "-w", "--stdin")}\tproposal.yaml\n`;
  const [a = "", b = "", c = "", d = "", e = "", f = "", g = "", h = "", i = "", j = "", k = "", l = "", m = ""] = ids;
  put(`${a}/change`, `${blob}\n`);
  put(`${b}/change`, `${"1".repeat(40)}\n`);
  put(`${c}/change`, "garbage\n");
  put(`${d}/change`, `${commit(tree, "no trailers\n", base)}\n`);
  put(`${e}/change`, `${commit(tree, message(a), base)}\n`);
  put(`${f}/change`, `${commit(tree, message(f))}\n`);
  put(`${g}/change`, `${commit(tree, message(g), base, good.commit)}\n`);
  put(`${h}/change`, `${commit(link, message(h), base)}\n`);
  put(`${i}/change`, `${commit(module, message(i), base)}\n`);
  put(`${j}/state`, `${good.commit}\n`);
  for (const [id, text] of [
    [k, "state: [\n"],
    [l, "state: &a ready\nwhy: *a\n"],
    [m, "state: crowned\nwhy: null\nby: x\nat: 1\napplied: null\nreverted: null\n"],
  ] as const) {
    put(`${id}/change`, `${commit(tree, message(id), base)}\n`);
    put(`${id}/state`, `${state(yaml(text))}\n`);
  }
  put("prop_short/change", `${good.commit}\n`);
  for (const [at, name] of ["..", ".git", "a\\b"].entries())
    put(`${ids[13 + at]}/change`, `${commit(entry(name), message(ids[13 + at] ?? ""), base)}\n`);
  put("deep/er/change", `${good.commit}\n`);
  expect((await store.list()).map(({ id, state }) => [id, state])).toEqual([[good.id, "ready"]]);
  const found = Object.fromEntries((await store.unreadable()).map(({ id, why }) => [id, why]));
  expect(Object.keys(found).sort()).toEqual([...ids.slice(0, 16), "prop_short"].sort());
  expect(found[d]).toMatch(/does not carry its trailers/);
  expect(found[e]).toMatch(/does not carry its trailers/);
  expect(found[f]).toMatch(/not exactly one parent/);
  expect(found[h]).toMatch(/not a plain file/);
  expect(found[l]).toMatch(/references/);
  expect(found[m]).toMatch(/state/);
  await expect(store.get(d)).rejects.toMatchObject({ code: "PROPOSAL_UNKNOWN", message: expect.stringMatching(/unreadable/) });
  await expect(store.update(d, { state: "ready" }, { from: ["draft"] })).rejects.toMatchObject({ code: "PROPOSAL_UNKNOWN" });
  expect(await store.create(draft(script(2)), base)).toMatchObject({ known: false });
  // Another clone has put other content on it.
  put(`${good.id}/change`, `${commit(tree, "no trailers\n", base)}\n`);
  await expect(store.get(good.number)).rejects.toThrow(`Proposal ${good.number} is unreadable: its change does not carry its trailers`);
});

it("are unreadable if they hold more than can be walked or kept in memory", async () => {
  const { one, store, base } = await opened();
  const input = (text: string, ...args: string[]) => execFileSync("git", args, { cwd: one.dir, input: text, encoding: "utf8" }).trim();
  const tree = (...items: string[]) => `040000 tree ${input(items.map((item) => `${item}\n`).join(""), "mktree")}`;
  const file = `100644 blob ${input(life, "hash-object", "-w", "--stdin")}`;
  const ref = (name: string, tree: string, text: string, ...parent: string[]) => {
    const commit = input(text, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree.replace(/.* /, ""), ...parent);
    one.git("update-ref", `refs/cleared/proposals/prop_${name}`, commit);
  };
  for (const [n, item] of [file, tree()].entries()) {
    let bomb = item;
    for (let level = 0; level < 12; level++) bomb = tree(..."0123456789".split("").map((name) => `${bomb}\t${name}`));
    const [a, b] = [n, n + 2].map((digit) => String(digit).repeat(10)) as [string, string];
    ref(`${a}/change`, tree(`${bomb}\tscripts`), `t\n\nProposal: prop_${a}\nProposed-by: Pat\n`, "-p", base);
    ref(`${b}/change`, one.git("rev-parse", "HEAD^{tree}").trim(), `t\n\nProposal: prop_${b}\nProposed-by: Pat\n`, "-p", base);
    ref(`${b}/state`, tree(`${file}\tproposal.yaml`, `${bomb}\tdecisions`), "s\n");
  }
  const large = (bytes: number) => `100644 blob ${input("x".repeat(bytes), "hash-object", "-w", "--stdin")}`;
  const rest = one
    .git("ls-tree", "HEAD")
    .trim()
    .split("\n")
    .filter((line) => !line.endsWith("\tscripts"));
  const many = Array.from({ length: 201 }, (_, n) => `${file}\t${n}.ts`);
  const [c, d, e] = [4, 5, 6].map((digit) => String(digit).repeat(10)) as [string, string, string];
  for (const [id, items] of [
    [c, many],
    [d, [`${large(1_000_001)}\ta.ts`]],
    [e, many.slice(150)],
  ] as const)
    ref(`${id}/change`, tree(...rest, `${tree(...items)}\tscripts`), `t\n\nProposal: prop_${id}\nProposed-by: Pat\n`, "-p", base);
  const decisions = ["1.yaml", "2.yaml"].map((name, n) => `${large(3_900_000 + n)}\t${name}`);
  ref(`${e}/state`, tree(`${file}\tproposal.yaml`, `${tree(decisions[0] ?? "", decisions[1] ?? "")}\tdecisions`), "s\n");
  const found = Object.fromEntries((await store.unreadable()).map(({ id, why }) => [id.slice(-1), why]));
  const walk = expect.stringMatching(/has more than 1000000 files and folders/);
  expect(found).toEqual({
    ...{ 0: walk, 1: walk, 2: walk, 3: walk, 4: expect.stringMatching(/changes \d+ files; at most 200/) },
    5: expect.stringMatching(/has 1000001 bytes; at most 1000000 are read/),
    6: expect.stringMatching(/its decisions have more than 4000000 characters/),
  });
});
