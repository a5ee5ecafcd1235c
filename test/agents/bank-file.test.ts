/** The two bank files of a payroll against their formats: records, totals, check digits, letters. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { payroll_bank_file } from "../../primitives/payroll.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { callPrimitive } from "../../runtime/kernel/primitive.ts";

interface File {
  text: string;
  extension: string;
  count: number;
  total: string;
  entry_hash: string | null;
}
type Fields = Record<string, Json>;

const make = (params: Fields): Promise<File> =>
  callPrimitive(payroll_bank_file as never, params, { run: { mode: "live" } } as never) as unknown as Promise<File>;
const PAYER = {
  name: "Cleared Goods Inc",
  iban: "DE02120300000000202051",
  bic: "BYLADEM1001",
  routing_number: "021000021",
  account_number: "1200345678",
  ach_company_id: "1234567890",
};
const DAYS = { reference: "PAY-1", created_on: "2024-10-22", pay_date: "2024-10-25" };
const us = (id: string, amount: string, more: Fields = {}): Fields => ({
  id,
  name: `Name ${id}`,
  routing_number: "121000248",
  account_number: "7750012345",
  amount,
  ...more,
});
const eu = (id: string, amount: string, more: Fields = {}): Fields => ({
  id,
  name: `Name ${id}`,
  iban: "DE89370400440532013000",
  amount,
  ...more,
});
const nacha = (payments: Fields[], more: Fields = {}) => make({ format: "nacha", ...DAYS, payer: PAYER, payments, ...more });
const pain = (payments: Fields[], more: Fields = {}) =>
  make({ format: "pain.001", ...DAYS, payer: PAYER, payments, currency: "EUR", ...more });

test("a NACHA file has records of 94 characters in blocks of ten, and its totals match its entries", async () => {
  const { text, count, total, entry_hash } = await nacha([us("E-1", "2725.28"), us("E-2", "0.01", { routing_number: "021000021" })]);
  const lines = text.trimEnd().split("\n");
  expect(lines.map((line) => line.length)).toEqual(Array(10).fill(94));
  expect(lines.map((line) => line[0]).join("")).toBe("1566899999");
  const entries = lines.filter((line) => line.startsWith("6"));
  const cents = entries.reduce((all, line) => all + Number(line.slice(29, 39)), 0);
  expect([count, total, cents]).toEqual([2, "2725.29", 272_529]);
  // 12100024 + 02100002
  expect(entry_hash).toBe("0014200026");
  // Entries, hash, debit, credit: in the batch's control record and in the file's.
  const control = "0000020014200026000000000000000000272529";
  expect([lines[4]?.slice(4, 44), lines[5]?.slice(15, 55)]).toEqual([control, control]);
  expect(entries[0]).toMatch(/^622121000248\S+ +0000272528E-1 +Name E-1 +0021000020000001$/);
});

test("a pain.001 is well formed, uses characters every bank accepts, and its control sums match its payments", async () => {
  const { text, total } = await pain([eu("E-1", "3648.00", { name: "Łukas Bräun & Söhne <x>", bic: "COBADEFFXXX" }), eu("E-2", "0.10")]);
  expect(total).toBe("3648.10");
  expect(text.match(/<CtrlSum>([\d.]+)<\/CtrlSum>/g)).toEqual(Array(2).fill("<CtrlSum>3648.10</CtrlSum>"));
  expect(text.match(/<NbOfTxs>2<\/NbOfTxs>/g)).toHaveLength(2);
  expect(text).toContain("<Nm>Lukas Braun   Sohne  x</Nm>");
  expect(text).toContain("<BIC>COBADEFFXXX</BIC>");
  const parsed = spawnSync("xmllint", ["--noout", "-"], { input: text, encoding: "utf8" });
  if (parsed.error === undefined) expect(parsed.stderr).toBe("");
});

const WRONG: [string, () => Promise<File>, RegExp][] = [
  ["an IBAN with other check digits", () => pain([eu("E-1", "1.00", { iban: "DE88370400440532013000" })]), /Name E-1.*not an IBAN/],
  ["an IBAN that is too long", () => pain([eu("E-1", "1.00", { iban: "DE893704004405320130000" })]), /not an IBAN/],
  ["no IBAN at all", () => pain([eu("E-1", "1.00", { iban: null })]), /not an IBAN/],
  ["a routing number with another check digit", () => nacha([us("E-1", "1.00", { routing_number: "021000022" })]), /not a routing number/],
  ["an account number with blanks", () => nacha([us("E-1", "1.00", { account_number: "12 34" })]), /not an account number/],
  ["an account number with a line break", () => nacha([us("E-1", "1.00", { account_number: "12\n34" })]), /not an account number/],
  ["a payer without a company id", () => nacha([us("E-1", "1.00")], { payer: { ...PAYER, ach_company_id: null } }), /company id/],
  ["nothing to pay", () => nacha([us("E-1", "0.00")]), /not above 0/],
  ["less than nothing", () => pain([eu("E-1", "-1.00")]), /not above 0/],
  ["part of a cent", () => pain([eu("E-1", "1.005")]), /two decimals/],
  ["more than a field holds", () => nacha([us("E-1", "100000000.00")]), /100 million/],
  ["somebody twice", () => pain([eu("E-1", "1.00"), eu("E-1", "1.00")]), /twice/],
  ["a NACHA file in euros", () => nacha([us("E-1", "1.00")], { currency: "EUR" }), /in USD/],
];
test.each(WRONG)("%s is refused, and no file is created", async (_, work, says) => {
  await expect(work()).rejects.toMatchObject({ code: "PAYROLL_ACCOUNT", message: expect.stringMatching(says) });
});

test("an amount as a number is refused", async () => {
  await expect(pain([eu("E-1", 1.5 as never)])).rejects.toMatchObject({ kind: "input" });
});

test("a payment that a bank could not read, distinguish or sum is refused with a reason", async () => {
  const refused = (says: string) => ({ code: "PAYROLL_ACCOUNT", message: expect.stringContaining(says) });
  await expect(pain([eu("E-1", "1.00", { name: "李雷" })])).rejects.toMatchObject(refused("Latin letters"));
  await expect(nacha([us("E-1", "1.00", { name: "\n" })])).rejects.toMatchObject(refused("Latin letters"));
  await expect(pain([eu("E_1", "1.00"), eu("E=1", "1.00")])).rejects.toMatchObject(refused("equals another one"));
  const rich = Array.from({ length: 101 }, (_, i) => us(`E-${i}`, "99999999.99"));
  await expect(nacha(rich)).rejects.toMatchObject(refused("10 billion"));
});

test("a name cannot add a line, a record or an element to the file", async () => {
  const name = "Ann\r\n622</Nm><Nm>&amp;\u2028Bo";
  expect((await pain([eu("E-1", "1.00", { name })])).text).toContain("<Nm>Ann  622 /Nm  Nm  amp  Bo</Nm>");
  const lines = (await nacha([us("E-1", "1.00", { name })])).text.trimEnd().split("\n");
  expect(lines.map((line) => line[0]).join("")).toBe("1568999999");
});
