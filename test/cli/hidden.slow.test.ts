/** Characters that a reviewer does not see, in everything a proposal may change: refused, and shown escaped wherever it is looked at. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { cleared, commit, shell, start, put, warmUp, workspace } from "./command-line.ts";

beforeAll(warmUp);

// Not seen: zero width space, right-to-left override, a tag, a Hangul filler; a line for the computer alone: U+2028, U+0085, a lone CR.
const SIGNS = ["\u200b", "\u202e", "\u{e0041}", "\u3164", "\u2028", "\u0085", "\r"];
const ESCAPED = "\\u200ba\\u202ea\\udb40\\udc41a\\u3164a\\u2028a\\u0085a\\u000d";
const RAW = /[\u0410\u200b\u202e\u{e0041}\u3164\u2028\u0085]|\r(?!\n)/u;
const AGENT = `/*\nname: Pay\ndescription: "Pays bills"\nuses: [ctx]\n*/\n// may it pay\nctx_log("pay");\n`;
const POLICY = `process: pay\nsource: template\nfacts: {amount: decimal}\nrules:\n  - {id: R, when: amount > 1, action: notify, description: large}\n`;

const EDITS: [what: string, file: string, from: string, to: (sign: string) => string][] = [
  ["a script", "agents/pay.ts", "may it pay", (sign) => `may it${sign}pay`],
  ["a string of a script", "agents/pay.ts", '"pay"', (sign) => `"pa${sign}y"`],
  ["a header", "agents/pay.ts", "Pays bills", (sign) => `Pays${sign}bills`],
  ["a policy", "policies/pay.yaml", "description: large", (sign) => `description: la${sign}rge`],
  ["the settings", "config.yaml", "Acme", (sign) => `Ac${sign}me`],
  ["a dialect", "importers/generic.yaml", "name: ", (sign) => `# of a${sign}bank\nname: `],
];

test("check refuses hidden characters, and no diff, list or card shows them raw", async () => {
  const dir = await workspace();
  await commit(dir, { "agents/pay.ts": AGENT, "policies/pay.yaml": POLICY });
  const edited = new Map<string, string>();
  for (const [what, file, from, to] of EDITS) {
    const before = readFileSync(join(dir, file), "utf8");
    expect(before, what).toContain(from);
    put(dir, { [file]: before.replace(from, to("\u202e")) });
    const { code, stdout, stderr } = await cleared(dir, "check");
    expect([code === 0, `${stdout}${stderr}`.match(RAW)], what).toEqual([false, null]);
    expect(`${stdout}${stderr}`, what).toMatch(/The character U\+202E is invisible to a reader/);
    put(dir, { [file]: before });
    // Without settings that can be read, no command goes further.
    if (file !== "config.yaml") edited.set(file, (edited.get(file) ?? before).replace(from, to(SIGNS.join("a"))));
  }
  put(dir, Object.fromEntries(edited));
  const proposed = await cleared(dir, "propose", "-m", "Change\u202e it\u2028now for \u0410CME", "--reason", "so\u200bso");
  expect(proposed.stdout, proposed.stderr).toMatch(/^1 /);
  const lists = [["check"], ["proposals"], ["queue"], ["proposals", "show", "1"], ["proposals", "diff", "1"]];
  const seen = [proposed, ...(await Promise.all(lists.map((list) => cleared(dir, ...list))))].map(({ stdout, stderr }) => stdout + stderr);
  for (const [, file, , to] of EDITS.filter(([, file]) => edited.has(file)))
    expect(seen.at(-1), file).toContain(to(ESCAPED).split("\n")[0]);
  const running = await start(dir);
  const [, url = ""] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(running.said()) ?? [];
  const paths = ["/", "/proposals", "/proposals/1"];
  const pages = await Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).text()));
  await running.stop();
  expect(pages[1]).toContain("Change\\u202e it");
  expect(pages[2]).toContain(`may it${ESCAPED}pay`);
  const raw = [...seen, ...pages].map((text) => text.match(RAW));
  expect(raw).toEqual(raw.map(() => null));
});

test("code committed without checks is shown as unchecked, and does not run", async () => {
  const dir = await workspace();
  put(dir, { "agents/pay.ts": AGENT.replace("may it pay", "may it\u2028ctx_log('paid')") });
  await shell(dir, "git add -A agents && git commit -qm 'pay\u202e'");
  const ran = await cleared(dir, "run", "pay");
  expect(ran.code).not.toBe(0);
  expect(ran.stderr).toMatch(/U\+2028 ends a line for a program but not for a reader/);
  expect(`${ran.stdout}${ran.stderr}`).not.toMatch(RAW);
});
