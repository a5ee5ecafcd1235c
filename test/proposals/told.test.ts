/** How a change is told to somebody who does not program: settings by what they are for, data by its values, conditions and test cases in words. */
import { afterAll, expect, test } from "vitest";
import type { Report } from "../../runtime/change/proposal-types.ts";
import { cardOf } from "../../runtime/change/proposals/card.ts";
import { proposalAt } from "../web/proposals.ts";
import { between, changed, closeSandbox, lines, type Rewrite, widened } from "./rewrites.ts";

afterAll(closeSandbox);

const PACK = "policies/invoice_reconciliation.yaml";
const CONFIG = "config.yaml";

test("a setting with a description is reported with it, one without by its key", async () => {
  const said = async (from: string, to: string) => {
    const { widening, changes } = await changed({ [CONFIG]: [[from, to]] });
    return lines([...widening, ...changes]).join("\n");
  };
  expect(await said("settle_seconds: 5", "settle_seconds: 3")).toContain(
    "import.settle_seconds is 3 instead of 5: how many seconds a file in import/ must not have changed before it is read",
  );
  expect(await said("port: 4310", "port: 4311")).toContain("web.port is 4311 instead of 4310: the port of the status page");
  expect(await said("settings: {}", "changes: {auto_revert: {hours: 48}}\nsettings: {}")).toContain(
    "changes.auto_revert.hours is 48 instead of 24: how many hours an applied change is watched",
  );
  expect(await said("default: page", "default: ops")).toContain('notify.default is "ops" instead of "page": where notices go (');
  expect(await said("auto_confirm: 0.95", "auto_confirm: 0.96")).toMatch(/thresholds\.auto_confirm is 0\.96 instead of 0\.95 \(/);
});

const PAYEES = (one: string, other: string) =>
  JSON.stringify({
    payees: Array.from({ length: 12 }, (_, i) => ({ name: `Payee ${i}`, iban: [one, other][i] ?? `DE${i}`, amount: 10.5 + i })),
  });
const STAFF = (one: string, other: string, head = "employee,account_number,amount") =>
  `${head}\nSarah Chen,${one},1.00\nTomas Lind,${other},900.00\n`;
const [DE, GB] = ["DE89370400440532013000", "GB29NWBK60161331926819"] as const;
const [CHEN, LIND] = ["7750012345", "4482910111"] as const;
// biome-ignore format: one row, one change
const DATA: [string, file: string, was: string, now: string, widened: RegExp[], told: RegExp[]][] = [
  ["two accounts in one long line", "payees.json", PAYEES(DE, GB), PAYEES(GB, DE), [/recipient: .*payees\[Payee 0\]\.iban is "GB29.*" instead of "DE89/, /payees\[Payee 1\]\.iban is "DE89.*" instead of "GB29/], []],
  ["an amount in one long line", "payees.json", PAYEES(DE, GB), PAYEES(DE, GB).replace("17.5", "170.50"), [], [/payees\[Payee 7\]\.amount is 170\.50 instead of 17\.5 /]],
  ["two accounts of a table", "staff.csv", STAFF(CHEN, LIND), STAFF(LIND, CHEN), [/\[Sarah Chen\]\.account_number is "4482910111" instead of "7750012345"/, /\[Tomas Lind\]\.account_number is "7750012345"/], []],
  ["two heads of a table", "staff.csv", STAFF(CHEN, LIND), STAFF(CHEN, LIND, "employee,amount,account_number"), [/\[Sarah Chen\]\.account_number is "1\.00" instead of "7750012345"/], [/\.amount now comes before \[Sarah Chen\]\.account_number/]],
  ["two columns of a table", "staff.csv", "who,a,b\nX,1,2\n", "who,b,a\nX,2,1\n", [], [/\[X\]\.b now comes before \[X\]\.a/]],
  ["one payee more", "staff.csv", STAFF(CHEN, LIND), `${STAFF(CHEN, LIND)}Eve,5555555555,3.00\n`, [/adds \[Eve\]: employee "Eve", account_number "5555555555"/], []],
  ["a new table", "staff.csv", "", STAFF(CHEN, LIND), [/adds \[Sarah Chen\]: .*7750012345/], []],
  ["a number that is a text now", "a.json", '{"a":1,"b":2}', '{"a":"1","b":3}', [], [/a is "1" instead of 1/, /b is 3 instead of 2/]],
  ["digits that no number holds", "a.json", '{"a":12345678901234567890}', '{"a":12345678901234567891}', [], [/a is 12345678901234567891 instead of 12345678901234567890/]],
  ["a key that stands twice", "a.json", '{"a":1,"a":2}', '{"a":5,"a":2}', [], [/says .*5.* instead of/]],
  ["keys with a dot", "a.json", '{"a.b":1,"a":{"b":2}}', '{"a.b":2,"a":{"b":1}}', [], [/says .* instead of/]],
  ["two accounts in one line of text", "notes.md", `Acme: ${DE}, Globex: ${GB}\n`, `Acme: ${GB}, Globex: ${DE}\n`, [/recipient: .*says "Acme: GB29.*instead of "Acme: DE89/], []],
];
test.each(DATA)("in a data file the changed value is named: %s", async (_, file, was, now, wider, told) => {
  const path = `knowledge/${file}`;
  const { widening, changes } = await between(new Map([[path, was]]), new Map([[path, now]]));
  for (const line of wider) expect(lines(widening).join("\n")).toMatch(line);
  for (const line of told) expect(lines(changes).join("\n")).toMatch(line);
  if (wider.length === 0) expect(lines(widening)).toEqual([]);
});

// biome-ignore format: one row, one condition
const SAID: [string, code: string, words: string][] = [
  ["a function that asks", "if (isLate(input.a)) ", "only if “is late” holds for a of input"],
  ["its opposite", "if (!isLate(input.a)) ", "only if “is late” does not hold for a of input"],
  ["one beside another", "if (!isLate(input.a) || input.n > 5) ", "only if “is late” does not hold for a of input or n of input is more than 5"],
  ["a function that counts", "if (daysSince(input.a, 3) > 30) ", "only if “days since” of a of input and 3 is more than 30"],
  ["one in another", "if (isLate(daysSince(input.a, 3))) ", "only if “is late” holds for “days since” of a of input and 3"],
  ["a part of a list", "for (const one of input.list.filter((x: any) => x.days >= 9)) ", "once for each of list of input where days is at least 9"],
  ["each of a list", "if (input.list.every((x: any) => !x.paid)) ", "only if for every one of list of input: not paid"],
];
test.each(SAID)("a condition has words on the card: %s", async (_, condition, words) => {
  const uses = "const isLate = (x: any) => x > 3;\nconst daysSince = (x: any, n: number) => x - n;\n";
  const text = (when: string) => `/*\nname: Pay\nuses: [mcp]\n*/\n${uses}${when}mcp_call({ tool: "erp/pay", params: { id: "1" } });\n1;\n`;
  const found = await between(new Map([["agents/pay.ts", text("")]]), new Map([["agents/pay.ts", text(condition)]]));
  const proposal = proposalAt(0);
  const report = { ...(proposal.report as Report), ...found };
  expect(
    cardOf({ ...proposal, report })
      .parts.find(({ name }) => name === "May do more")
      ?.lines.join("\n"),
  ).toContain(words);
});

test("a new rule with test cases is reported as what it adds, without its facts in existing cases", async () => {
  const rule = '  - {id: LARGE, when: "size > 50000", action: block, description: far too much}\n';
  const large = ["a", "b"].map((name) => `  - {name: large ${name}, facts: {size: "60000"}, verdict: block}\n`).join("");
  const { widening, changes } = await changed({
    [PACK]: [
      ["facts:\n", "facts:\n  size: money\n"],
      ["usual: {", `${rule}usual: {size: "120.00", `],
      ["cases:\n", `cases:\n${large}`],
    ],
  });
  expect(lines(widening)).toEqual([]);
  const told = lines(changes).join("\n");
  expect(told).toMatch(/adds the rule LARGE: it blocks where size > 50000 \(far too much\)/);
  expect(told).toMatch(/2 of its test cases are new \("large a", "large b"\)/);
  expect(told).not.toMatch(/adds cases/);
  // Where a rule that was there asks about the fact, each case may have become another.
  const asked: Rewrite = {
    [PACK]: [
      ["facts:\n", "facts:\n  size: money\n"],
      ["usual: {", 'usual: {size: "120.00", '],
      ["when: duplicate,", 'when: "duplicate && size > 100",'],
    ],
  };
  expect(lines(await widened(asked)).join("\n")).toMatch(/\d+ of its test cases are changed/);
});
