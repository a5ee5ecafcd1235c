/** A correction becomes a rule: offered at once, one decision for all that is alike, and a proposal that recorded runs speak for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { separatingText } from "../../runtime/rules/separating-text.ts";
import { withRule } from "../../runtime/scripts/rule-rows.ts";
import { cleared, commit, put, shell, statement, workspace, warmUp } from "../cli/command-line.ts";
import { type Script, asking, call } from "../meta/asking.ts";

beforeAll(warmUp);

// biome-ignore format: one row, one text
const TEXTS: [own: string, like: string[], others: string[], text: string | null][] = [
  ["HETZNER ONLINE GMBH 4711", [], ["STAPLES 12"], "HETZNER"],
  // The shortest of those that all of them have.
  ["SQ *BLUE BOTTLE OAKLAND", ["SQ *BLUE BOTTLE OAKLAND", "SQ *BLUE BOTTLE BERLIN"], ["SQ *PEETS"], "BLUE"],
  ["AMZN MKTP US*2K4", ["AMZN MKTP US*2K4"], ["AMZN WEB"], "AMZN MKTP"],
  // A short word that is not the payee is part of other words.
  ["GITHUB *PRO SUBSCRIPTION", [], ["STAPLES 12"], "GITHUB"],
  ["GITHUB *PRO", ["GITHUB *PRO", "UPGRADE *PRO"], ["GITHUB *TEAM"], "GITHUB *PRO"],
  ["CITY PRO", [], ["CITY HALL", "THE CITY PRO SHOP"], null],
  // What a person left elsewhere has every word of it.
  ["AMZN MKTP", [], ["AMZN MKTP US"], null],
  ["ONLINE PAYMENT 20261102", [], [], null],
];
test.each(TEXTS)("the separating text of %j", (own, like, others, text) => {
  expect(separatingText(own, like, others)).toBe(text);
});

test("a rule is placed before the one that matched the rows, an existing one gets the account, and other lists are not rules", () => {
  const list = `const rules = [\n  { text: "AMZN", account: 5030, vendor: "Amazon", confidence: 0.7 },\n  { text: "UBER", account: 5040, vendor: "Uber", confidence: 0.9 },\n];\n`;
  const rule = { text: "MKTP", account: "5020", vendor: "Market", confidence: "0.9" };
  const line = `{ text: "MKTP", account: 5020, vendor: "Market", confidence: 0.9 }`;
  expect(withRule(list, rule, ["AMZN MKTP"])).toBe(list.replace('  { text: "AMZN"', `  ${line},\n  { text: "AMZN"`));
  expect(withRule(list, rule, ["SOMEBODY"])).toBe(list.replace("0.9 },\n]", `0.9 },\n  ${line},\n]`));
  expect(withRule(list, { ...rule, text: "UBER" }, ["UBER"])).toBe(list.replace("5040", "5020"));
  expect(withRule(list, { ...rule, text: "UBER", account: "5040" }, ["UBER"])).toBe(list);
  expect(withRule('const accounts = ["5020"];\n', rule, [])).toBeNull();
});

test("correcting one entry offers all similar ones and a rule on one card; the rule is proposed with what it would have changed", async () => {
  const dir = await workspace();
  put(dir, {
    "import/a.csv": statement([
      ["2026-11-02", "HETZNER ONLINE 1", "-12.00"],
      ["2026-11-03", "HETZNER ONLINE 2", "-13.00"],
      ["2026-11-04", "HETZNER ONLINE 3", "-14.00"],
      ["2026-11-05", "CORNER SHOP", "-5.00"],
    ]),
  });
  await cleared(dir, "import", join(dir, "import/a.csv"));
  const cards = async () =>
    (await cleared(dir, "queue", "--json")).json() as { id: number; title: string; kind: string; body: { entry: string } }[];
  const of = async (text: string) => (await cards()).find(({ title }) => title.includes(text))?.id ?? 0;
  // What a person has left where it was is no part of the rule.
  await cleared(dir, "approve", String(await of("CORNER")));
  const { body } = (await cards()).find(({ title }) => title.includes("HETZNER ONLINE 1")) ?? {};
  const moved = await cleared(dir, "approve", String(await of("HETZNER ONLINE 1")), "--account", "5020");
  expect(moved.stdout).toMatch(/rule {2}"HETZNER" is Expenses:Software: 1 correction, 2 more alike/);
  expect(moved.stdout).toMatch(/approve: moves these 2 entries to 5020 Expenses:Software, and proposes the rule for agents\/ingest\.ts/);
  const before = (await shell(dir, "git rev-list --count HEAD")).stdout;
  const yes = await cleared(dir, "approve", String(await of('"HETZNER"')));
  const number = /proposal (\d+) adds this to the script/.exec(yes.stdout)?.[1] ?? "";
  expect(Number((await shell(dir, "git rev-list --count HEAD")).stdout)).toBe(Number(before) + 1);
  expect((await cards()).map(({ kind }) => kind)).toEqual(["proposal"]);
  expect((await shell(dir, "cat journal/2026/11.journal")).stdout.match(/Expenses:Software/g)).toHaveLength(3);
  expect((await cleared(dir, "rule", body?.entry ?? "")).stdout).toMatch(new RegExp(`^proposal ${number} has this rule\\n`));
  expect(await cards()).toHaveLength(1);
  const shown = (await cleared(dir, "proposals", "show", number)).stdout;
  expect(shown).toMatch(/"HETZNER"/);
  expect(shown).toMatch(/3 of 4 entries|3 entries/);
  expect((await cleared(dir, "approve", number)).code).toBe(0);
  expect(readFileSync(join(dir, "agents/ingest.ts"), "utf8")).toContain(
    '{ text: "HETZNER", account: 5020, vendor: "Hetzner", confidence: 0.9 }',
  );
  expect((await cleared(dir, "rule", body?.entry ?? "")).stderr).toContain('agents/ingest.ts has the rule already: "HETZNER" is 5020');
  expect(await cards()).toEqual([]);
  put(dir, { "import/b.csv": statement([["2026-11-09", "HETZNER ONLINE 4", "-15.00"]]) });
  await cleared(dir, "import", join(dir, "import/b.csv"));
  expect((await shell(dir, "grep -A9 'HETZNER ONLINE 4' journal/2026/11.journal")).stdout).toContain("Expenses:Software");
});

test("answers about accounts are approved as proposed, whatever else changed config.yaml; of two rules for a script, the second is proposed again", async () => {
  const dir = await workspace();
  const bank = (id: string) =>
    `OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>${id}</BANKACCTFROM><BANKTRANLIST><STMTTRN><DTPOSTED>20261003<TRNAMT>-3.00<FITID>F-${id}<NAME>GITHUB</STMTTRN></BANKTRANLIST></STMTRS></OFX>\n`;
  const rows = ["HETZNER ONE", "HETZNER TWO", "VODAFONE ONE", "VODAFONE TWO"].map((text): [string, string, string] => [
    "2026-11-02",
    text,
    "-9.00",
  ]);
  put(dir, { "in/a.csv": statement(rows), "in/x.ofx": bank("5001"), "in/y.ofx": bank("5002") });
  await shell(dir, "cleared import in/a.csv in/x.ofx in/y.ofx");
  const find = async (text: string | RegExp) =>
    String(
      ((await cleared(dir, "queue", "--json")).json() as { id: number; title: string }[]).find(({ title }) => title.search(text) >= 0)?.id,
    );
  const answer = async (text: string, ...more: string[]) =>
    /proposal (\d+) adds/.exec((await cleared(dir, "approve", await find(text), ...more)).stdout)?.[1] ?? "";
  await answer("HETZNER ONE", "--account", "5020");
  await answer("VODAFONE ONE", "--account", "5070");
  const accounts = [await answer("is account 5001", "--account", "1010"), await answer("is account 5002", "--account", "2010")];
  expect((await cleared(dir, "approve", ...accounts)).stderr).toBe("");
  const rules = await cleared(dir, "approve", await answer('"HETZNER" is'), await answer('"VODAFONE" is'));
  const next = /[Pp]roposal (\d+) (?:replaces|is the same)/.exec(rules.stderr)?.[1] ?? "";
  expect([rules.code, next], rules.stdout + rules.stderr).toEqual([2, expect.stringMatching(/^\d+$/)]);
  expect((await cleared(dir, "approve", next)).stderr).toBe("");
  put(dir, { "in/z.ofx": bank("5003") });
  await shell(dir, "cleared import in/z.ofx");
  const third = await answer("is account 5003", "--account", "1010");
  await commit(dir, { "config.yaml": readFileSync(join(dir, "config.yaml"), "utf8").replace("auto_confirm: 0.95", "auto_confirm: 0.96") });
  expect((await cleared(dir, "approve", third)).stderr).toBe("");
  expect((await cleared(dir, "queue")).stdout).not.toMatch(/account|rule|proposal/);
  const config = readFileSync(join(dir, "config.yaml"), "utf8");
  for (const id of ["5001", "5002", "5003"]) expect(config.split(`"${id}"`)).toHaveLength(2);
  expect(readFileSync(join(dir, "agents/ingest.ts"), "utf8")).toMatch(/"HETZNER", account: 5020[\s\S]*"VODAFONE", account: 5070/);
});

test("entries that a person decides while a rule's card waits stay where they are when the card is approved", async () => {
  const dir = await workspace();
  const rows = [1, 2, 3, 4].map((n): [string, string, string] => [`2026-11-0${n}`, `HETZNER ONLINE ${n}`, `-1${n}.00`]);
  put(dir, { "import/a.csv": statement(rows) });
  await cleared(dir, "import", join(dir, "import/a.csv"));
  const cards = async () => (await cleared(dir, "queue", "--json")).json() as { id: number; title: string; kind: string }[];
  const of = async (text: string) => String((await cards()).find(({ title }) => title.includes(text))?.id);
  await cleared(dir, "approve", await of("ONLINE 1"), "--account", "5020");
  await cleared(dir, "approve", await of("ONLINE 2"));
  await cleared(dir, "approve", await of("ONLINE 3"), "--account", "5040");
  const bookedOn = async (n: number) =>
    (await shell(dir, `grep -A9 'HETZNER ONLINE ${n}' journal/2026/11.journal | grep -o 'Expenses:[A-Za-z:]*' | head -1`)).stdout.trim();
  const before = await Promise.all([2, 3].map(bookedOn));
  const yes = await cleared(dir, "approve", await of('"HETZNER"'));
  expect(yes.stdout).toMatch(/left 2 entries where people have booked them since/);
  expect(before.every((account) => account.startsWith("Expenses:"))).toBe(true);
  expect(await Promise.all([2, 3].map(bookedOn))).toEqual(before);
  expect(await bookedOn(4)).toBe("Expenses:Software");
  expect((await shell(dir, "cat journal/2026/11.journal")).stdout).not.toContain("corrects:");
});

test("a rule without a correction behind it, or without an effect on recorded runs, is not proposed, with the reason", async () => {
  const dir = await workspace();
  put(dir, {
    "import/a.csv": statement([
      ["2026-11-02", "GITHUB A", "-12.00"],
      ["2026-11-03", "HETZNER 1", "-13.00"],
      ["2026-11-04", "HETZNER 2", "-14.00"],
    ]),
  });
  await cleared(dir, "import", join(dir, "import/a.csv"));
  const entries = (await cleared(dir, "queue", "--json")).json() as { id: number; body: { entry: string } }[];
  const [first, second] = entries;
  expect((await cleared(dir, "rule", first?.body.entry ?? "")).stderr).toMatch(/has not been moved to another account/);
  expect((await cleared(dir, "rule", "261102-aaaaaaaaaa")).stderr).toMatch(/^JOURNAL_ENTRY_MISSING/);
  await cleared(dir, "approve", String(first?.id), "--account", "5020");
  await cleared(
    dir,
    "reject",
    String(((await cleared(dir, "queue", "--json")).json() as { id: number; kind: string }[]).find(({ kind }) => kind === "rule")?.id),
  );
  // Rejected once, it is not offered again by itself, and still when it is asked for.
  expect((await cleared(dir, "approve", String(second?.id), "--account", "5020")).stdout).toMatch(/`cleared rule .*` makes a rule of it/);
  const ingest = readFileSync(join(dir, "agents/ingest.ts"), "utf8");
  await commit(dir, {
    "agents/ingest.ts": ingest
      .replace("const rules = [", "const list = [")
      .replace(/rules/g, "list")
      .replaceAll("text:", "words:")
      .replaceAll(".text", ".words"),
  });
  const asked = (await cleared(dir, "rule", first?.body.entry ?? "", "--json")).json() as { card: { id: number } };
  expect((await cleared(dir, "approve", String(asked.card.id))).stdout).toMatch(
    /no rule is proposed: agents\/ingest\.ts has no list of rules/,
  );
});

test("corrections that no words separate become a request to a model, which gets ids and accounts but no bank text", async () => {
  const scripts: Record<string, Script> = {};
  const { dir, server } = await asking(scripts, { runs: false });
  put(dir, {
    "import/a.csv": statement([
      ["2026-11-02", "AMZN MKTP", "-12.00"],
      ["2026-11-03", "AMZN MKTP", "-13.00"],
    ]),
  });
  await cleared(dir, "import", join(dir, "import/a.csv"));
  const [first, second] = (await cleared(dir, "queue", "--json")).json() as { id: number; body: { entry: string } }[];
  await cleared(dir, "approve", String(first?.id));
  await cleared(dir, "approve", String(second?.id), "--account", "5020");
  const id = second?.body.entry ?? "";
  const text = `A person moved the entry ${id} to account 5020. Change the rules so that rows like it are booked there, and nothing else.`;
  scripts[text] = [call("decline", { reason: "Nothing but the amount tells them apart." })];
  const asked = await cleared(dir, "rule", id);
  expect(asked.stdout).toMatch(/request 1\n {2}declines\nNothing but the amount/);
  expect(JSON.stringify(server.asked[0]?.body.messages.slice(1))).not.toContain("AMZN");
});
