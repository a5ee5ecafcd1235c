/** Questions: a figure is the books' own number with its entries behind it, or it is refused. */
import { beforeAll, expect, test } from "vitest";
import { warmUp } from "../cli/command-line.ts";
import { type Script, asking, call, cleared, lastResult, source } from "./asking.ts";

beforeAll(warmUp);

const question = (body: string, uses = "journal") => `/*\nname: Software spending\nuses: [${uses}]\nmutates: false\n*/\n${body}`;
const SUM = question(`const found = journal_query({ account: 5020, year: 2026, month: 10 });
let total = new Decimal(0);
const entries = [];
for (const one of found) {
  total = total.plus(one.amount ?? "0");
  entries.push(one.entry_id);
}
({ total: total.toFixed(2), count: entries.length, entries });
`);
const write = (text: string) => call("write", { path: "agents/question.ts", text });
const TRY = call("try", { agent: "question" });

/** What the last execution came to. */
const result = (asked: Parameters<typeof lastResult>[0]) =>
  JSON.parse(lastResult(asked)) as { source: string; result: { total: string; entries: string[] } };
const answer =
  (change: (one: { total: string; entries: string[]; source: string }) => object, text = "You spent {total} USD on software in October.") =>
  (asked: Parameters<typeof lastResult>[0]) => {
    const { source, result: got } = result(asked);
    const figure = { label: "Software, October", value: got.total, source, entries: got.entries, ...change({ ...got, source }) };
    return call("answer", { text: text.replace("{total}", got.total), figures: [figure] });
  };
const end = call("decline", { reason: "I cannot answer this." });

test("a figure comes from a read-only script, with the entries that sum up to it", async () => {
  const { dir, ask } = await asking({ "How much did I spend on software in October?": [write(SUM), TRY, answer(() => ({}))] });
  const { stdout, code } = await ask("How much did I spend on software in October?");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /You spent 131\.50 USD on software in October\.\n {2}Software, October: 131\.50 {2}\(the sum of 2 entries on Expenses:Software in USD\)/,
  );
  expect(stdout).toMatch(/2610\d\d-\S+ {2}2026-10-02 {2}-?127\.50 USD {2}AWS \*SERVICES/);
  // The script was only tried: nothing is proposed, nothing is in the workspace.
  expect((await cleared(dir, "proposals", "--json")).json().proposals.filter(({ asked }: { asked: unknown }) => asked !== null)).toEqual(
    [],
  );
});

test("a sum over entries of several accounts names each, so that an unintended one is seen", async () => {
  const all = SUM.replace("{ account: 5020, year", "{ year").replace(
    "month: 10 });",
    "month: 10 }).filter((one) => /AWS|GITHUB|STAPLES/.test(one.description));",
  );
  const { ask } = await asking({ "Software?": [write(all), TRY, answer(() => ({}))] });
  expect((await ask("Software?")).stdout).toMatch(
    /the sum of \d entries on Expenses in USD: [\d., ]+on Expenses:Software, [\d.]+ on Expenses:Office Supplies|Expenses:Office Supplies, [\d.]+ on Expenses:Software/,
  );
});

const LISBON = `/*\nname: Lisbon\nuses: [journal]\n*/
const trip = [["5020", "80.00", "USD"], ["5040", "20.00", "USD"], ["5030", "50.00", "EUR"]];
for (const [debit_account, amount, currency] of trip)
  journal_add_double({ date: "2026-10-20", description: "LISBON " + amount, debit_account, credit_account: "2010", amount, currency, key: amount, status: "auto-confirmed" });
`;

test("the entries of a sum are in its currency", async () => {
  const usd = SUM.replace("{ account: 5020, year", "{ year")
    .replace("month: 10 });", "month: 10 }).filter((one) => one.description.startsWith('LISBON'));")
    .replace('one.amount ?? "0"', '(one.description.includes("50") ? "0" : one.amount) ?? "0"');
  const main = `${source("main.journal")}\ncommodity EUR\n    format 1,000.00 EUR\n`;
  const files = { "agents/lisbon.ts": LISBON, "main.journal": main };
  const { dir, ask } = await asking({ "Lisbon?": [write(usd), TRY, answer(() => ({}))] }, { runs: false, files });
  expect((await cleared(dir, "run", "lisbon")).stderr).not.toMatch(/[A-Z]_[A-Z]/);
  const { stdout } = await ask("Lisbon?");
  expect(stdout).toMatch(/the sum of 3 entries on Expenses in USD: 80\.00 on Expenses:Software, 20\.00 on Expenses:Travel\)/);
});

test("a figure without a source that computed it is refused, with the reason", async () => {
  const refusals: Record<string, string> = {};
  const refused = (text: string, ...script: Script): [string, Script] => [
    text,
    [
      ...script,
      (asked) => {
        refusals[text] = lastResult(asked);
        return end;
      },
    ],
  ];
  const scripts = Object.fromEntries([
    refused(
      "made up",
      write(SUM),
      TRY,
      answer(() => ({ value: "999.99" })),
    ),
    refused("no source", call("answer", { text: "It was 131.50.", figures: [] })),
    refused(
      "no such source",
      call("answer", { text: "It was much.", figures: [{ label: "x", value: "131.50", source: "try_9", entries: [] }] }),
    ),
    refused(
      "written into the script",
      write(question('const total = "131.50";\njournal_query({ account: 5020 });\n({ total, entries: [] });\n')),
      TRY,
      answer(() => ({})),
    ),
    refused(
      "words where a figure belongs",
      write(question('journal_query({ account: 5020 });\n({ total: "Send us your PIN", entries: [] });\n')),
      TRY,
      answer(() => ({}), "See below."),
    ),
    refused(
      "entries it has not read",
      write(SUM),
      TRY,
      answer(() => ({ entries: ["261006-aaaaaaaaaa"] })),
    ),
    refused(
      "another number in the text",
      write(SUM),
      TRY,
      answer(() => ({}), "You spent {total} USD, 12 percent more than the 117.00 before."),
    ),
    refused(
      "not read-only",
      write(
        `${SUM.replace("mutates: false\n", "").replace("[journal]", "[journal, git]")}`.replace("({ total:", 'git_commit("x");\n({ total:'),
      ),
      TRY,
      answer(() => ({})),
    ),
  ]);
  const { ask } = await asking(scripts);
  for (const text of Object.keys(scripts)) await ask(text);
  expect(refusals["made up"]).toContain("is 999.99, and the result of try_1 does not have it");
  expect(refusals["no source"]).toContain("The text says 131.50, which is in no result");
  expect(refusals["no such source"]).toContain("which is neither an execution of yours");
  expect(refusals["written into the script"]).toContain("was given this very figure");
  expect(refusals["words where a figure belongs"]).toContain("never asked for here");
  expect(refusals["entries it has not read"]).toContain("which try_1 has not read");
  expect(refusals["another number in the text"]).toMatch(/The text says (12, )?117\.00|The text says .*117\.00/);
  expect(refusals["not read-only"]).toContain("is not read-only: it calls git_commit");
});

test("a figure that the writer supplied, or that is based on nothing recorded, is refused; a label must match the result like the text", async () => {
  const seen: string[] = [];
  const tell =
    (text: string, label = "x") =>
    (asked: Parameters<typeof lastResult>[0]) => {
      const { source, result: got } = result(asked);
      return call("answer", { text, figures: [{ label, value: got.total, source, entries: [] }] });
    };
  const refused = (...script: Script): Script => [
    ...script,
    (asked) => {
      seen.push(lastResult(asked));
      return end;
    },
  ];
  const input = question("journal_query({});\n({ total: input.v });\n").replace("mutates", "input:\n  v: {type: string}\nmutates");
  const shared = question('journal_query({});\nconst { total } = script_run("total");\n({ total });\n', "journal, script");
  const scripts = {
    "the input": refused(write(input), call("try", { agent: "question", input: { v: "131.50" } }), tell("Much.")),
    "another file": refused(
      call("write", { path: "scripts/total.ts", text: '({ total: "131.50" });\n' }),
      write(shared),
      TRY,
      tell("Much."),
    ),
    "nothing read": refused(
      write(question("({ total: new Decimal(263).div(2).toFixed(2), today: ctx_today() });\n", "ctx")),
      TRY,
      tell("Much."),
    ),
    "a label": refused(write(SUM), TRY, tell("Nothing was spent, and 9,999.99 saved.", "Spent, of which 9,999.99 saved")),
  };
  const { ask } = await asking(scripts, { runs: false });
  for (const text of Object.keys(scripts)) await ask(text);
  expect(seen).toEqual([
    expect.stringContaining("was given this very figure"),
    expect.stringContaining("was given this very figure"),
    expect.stringContaining("reads nothing that is recorded"),
    expect.stringContaining("The text says 9,999.99"),
  ]);
});

test("a model's search cannot be used to ask a person for a secret", async () => {
  const script = [
    call("read", { path: "Reply here with your PIN" }),
    call("run", { id: "Send us the password of your bank" }),
    call("search", { query: "type your password now", in: "docs" }),
    call("read", { path: "config.yaml" }),
    end,
  ];
  const { ask } = await asking({ "What?": script }, { runs: false });
  const { stdout } = await ask("What?");
  expect(stdout).toContain("reads config.yaml");
  expect(stdout).not.toMatch(/PIN|password/);
});
