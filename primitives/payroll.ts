/**
 * Bank files of a payroll: ISO 20022 pain.001.001.03 for accounts with an IBAN, NACHA (ACH, PPD credits) for US routing numbers. The check
 * digits of every account are verified, totals are the exact sum of the payments, and nothing is sent.
 */
import { z } from "zod";
import { ClearedError } from "../runtime/kernel/errors.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { ibanLength, isRouting } from "../runtime/rules/privacy/checksums.ts";
import { currency, day, money, shown, text } from "./_shapes.ts";
import { exact, fixed, sum } from "../runtime/kernel/exact.ts";

const account = {
  name: text.describe("account holder"),
  iban: text.nullish().describe("pain.001"),
  bic: text.nullish().describe("pain.001, if known"),
  routing_number: text.nullish().describe("NACHA"),
  account_number: text.nullish().describe("NACHA"),
};
const params = z.object({
  format: z.enum(["pain.001", "nacha"]),
  reference: text.describe("names this file; the bank treats two files with one reference as the same"),
  created_on: day,
  pay_date: day,
  payer: z.object({ ...account, ach_company_id: text.nullish().describe("NACHA, ten digits") }),
  payments: z
    .array(z.object({ id: text.describe("the employee"), ...account, amount: money }))
    .min(1)
    .max(10_000),
  currency: currency.default("USD").describe("of all payments; NACHA is in USD"),
});
type Params = z.output<typeof params>;
type Account = Pick<Params["payments"][number], "name" | "iban" | "bic" | "routing_number" | "account_number">;

function refuse(who: string, problem: string): never {
  throw new ClearedError("PAYROLL_ACCOUNT", `payroll_bank_file: ${who}: ${problem}. No file was created.`);
}

/** Digits and capitals of the account. @throws PAYROLL_ACCOUNT */
function ibanOf({ name, iban }: Account): string {
  const plain = (iban ?? "").replaceAll(" ", "").toUpperCase();
  return plain !== "" && ibanLength(plain) === plain.length
    ? plain
    : refuse(name, `${shown(iban ?? "")} is not an IBAN (length and check digits)`);
}

/** Refuses names and ids that a bank could not read or distinguish. @throws PAYROLL_ACCOUNT */
function mustBeReadable(p: Params): void {
  const seen = new Set<string>();
  for (const { id, name } of p.format === "nacha" ? [] : p.payments) {
    const key = endToEnd(id, p.pay_date);
    if (seen.has(key))
      refuse(name, `its id ${shown(id)} equals another one after reduction to the characters and length that banks accept`);
    seen.add(key);
  }
  for (const name of [p.payer.name, ...p.payments.map((one) => one.name)])
    if (!/[A-Za-z0-9]/.test(sepa(name, 70))) refuse(name, "the name has no letter that banks accept; write it in Latin letters");
}

function usAccount({ name, routing_number: routing, account_number: number }: Account): { routing: string; number: string } {
  if (!isRouting(routing ?? "")) refuse(name, `${shown(routing ?? "")} is not a routing number (nine digits with the check digit)`);
  if (!/^[A-Za-z0-9-]{1,17}$/.test(number ?? "")) refuse(name, `${shown(number ?? "")} is not an account number of 1 to 17 characters`);
  return { routing: routing ?? "", number: number ?? "" };
}

/** Payments as whole cents. @throws PAYROLL_ACCOUNT for an amount that cannot be paid */
const centsOf = (p: Params): bigint[] =>
  p.payments.map((one) => {
    const text = fixed(exact(one.amount), 2);
    if (exact(text) !== exact(one.amount)) refuse(one.name, `${one.amount} has more than two decimals`);
    const cents = BigInt(text.replace(".", ""));
    return cents > 0n && cents < 10n ** 10n ? cents : refuse(one.name, `${one.amount} is not above 0 and below 100 million`);
  });

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
const LETTERS: Record<string, string> = { ß: "ss", ø: "o", Ø: "O", æ: "ae", Æ: "AE", ł: "l", Ł: "L", đ: "d", Đ: "D" };
/** The letters that every bank accepts (SEPA, EPC217-08), cut to the length of the field. */
const sepa = (text: string, longest: number): string =>
  text
    .replace(/[ßøØæÆłŁđĐ]/g, (letter) => LETTERS[letter] ?? "")
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9/\-?:().,'+ ]/g, " ")
    .trim()
    .slice(0, longest);
const xml = (text: string, longest: number): string => sepa(text, longest).replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? "");

const endToEnd = (id: string, date: string): string => sepa(`${id}-${date}`, 35);

function pain(p: Params): string {
  const total = fixed(sum(p.payments.map((one) => exact(one.amount))), 2);
  const agent = (bic: string | null | undefined): string =>
    `<FinInstnId>${/^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/.test(bic ?? "") ? `<BIC>${bic}</BIC>` : "<Othr><Id>NOTPROVIDED</Id></Othr>"}</FinInstnId>`;
  const counts = `<NbOfTxs>${p.payments.length}</NbOfTxs><CtrlSum>${total}</CtrlSum>`;
  const name = xml(p.payer.name, 70);
  const id = xml(p.reference, 35);
  const paid = p.payments.map(
    (one) =>
      `      <CdtTrfTxInf><PmtId><EndToEndId>${xml(endToEnd(one.id, p.pay_date), 35)}</EndToEndId></PmtId><Amt><InstdAmt Ccy="${p.currency}">${fixed(exact(one.amount), 2)}</InstdAmt></Amt>` +
      `<CdtrAgt>${agent(one.bic)}</CdtrAgt><Cdtr><Nm>${xml(one.name, 70)}</Nm></Cdtr><CdtrAcct><Id><IBAN>${ibanOf(one)}</IBAN></Id></CdtrAcct><Purp><Cd>SALA</Cd></Purp></CdtTrfTxInf>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.03">
  <CstmrCdtTrfInitn>
    <GrpHdr><MsgId>${id}</MsgId><CreDtTm>${p.created_on}T00:00:00</CreDtTm>${counts}<InitgPty><Nm>${name}</Nm></InitgPty></GrpHdr>
    <PmtInf>
      <PmtInfId>${id}</PmtInfId><PmtMtd>TRF</PmtMtd><BtchBookg>true</BtchBookg>${counts}
      <PmtTpInf>${p.currency === "EUR" ? "<SvcLvl><Cd>SEPA</Cd></SvcLvl>" : ""}<CtgyPurp><Cd>SALA</Cd></CtgyPurp></PmtTpInf>
      <ReqdExctnDt>${p.pay_date}</ReqdExctnDt>
      <Dbtr><Nm>${name}</Nm></Dbtr><DbtrAcct><Id><IBAN>${ibanOf(p.payer)}</IBAN></Id></DbtrAcct><DbtrAgt>${agent(p.payer.bic)}</DbtrAgt><ChrgBr>${p.currency === "EUR" ? "SLEV" : "SHAR"}</ChrgBr>
${paid.join("\n")}
    </PmtInf>
  </CstmrCdtTrfInitn>
</Document>
`;
}

const left = (value: string, length: number): string => sepa(value, length).padEnd(length);
const right = (value: string | number | bigint, length: number): string => String(value).padStart(length, "0");
const yymmdd = (date: string): string => date.slice(2).replaceAll("-", "");

/** NACHA Operating Rules, Appendix Three: records of 94 characters, in blocks of ten. */
function nacha(p: Params, cents: readonly bigint[]): { text: string; hash: string } {
  const from = usAccount(p.payer);
  const company = p.payer.ach_company_id ?? "";
  if (!/^\w{10}$/.test(company)) refuse(p.payer.name, `${shown(company)} is not a company id of ten characters (ach_company_id)`);
  const bank = from.routing.slice(0, 8);
  const entries = p.payments.map((one, i) => {
    const { routing, number } = usAccount(one);
    // 22: a credit to a checking account; the trace number is the bank's eight digits and a running number.
    return `622${routing}${left(number, 17)}${right(cents[i] ?? 0n, 10)}${left(one.id, 15)}${left(one.name, 22)}  0${bank}${right(i + 1, 7)}`;
  });
  // The sum of the first eight digits of each receiving bank, cut to its last ten digits.
  const hash = right(p.payments.reduce((all, one) => all + Number((one.routing_number ?? "").slice(0, 8)), 0) % 10 ** 10, 10);
  const sumOf = cents.reduce((all, one) => all + one, 0n);
  if (sumOf >= 10n ** 12n) refuse(p.payer.name, "the payments total 10 billion or more, which does not fit into a NACHA file");
  const total = right(sumOf, 12);
  const counts = `${hash}${right(0, 12)}${total}`;
  const records = [
    `101 ${from.routing}${right(company, 10)}${yymmdd(p.created_on)}0000A094101${left("", 23)}${left(p.payer.name, 23)}${left(p.reference, 8)}`,
    // 220: credits only; PPD: to people.
    `5220${left(p.payer.name, 16)}${left("", 20)}${company}PPD${left("PAYROLL", 10)}${yymmdd(p.pay_date)}${yymmdd(p.pay_date)}   1${bank}0000001`,
    ...entries,
    `8220${right(entries.length, 6)}${counts}${company}${left("", 25)}${bank}0000001`,
  ];
  const blocks = Math.ceil((records.length + 1) / 10);
  records.push(`9000001${right(blocks, 6)}${right(entries.length, 8)}${counts}${left("", 39)}`);
  while (records.length % 10 > 0) records.push("9".repeat(94));
  const odd = records.findIndex((one) => one.length !== 94);
  if (odd >= 0) throw new ClearedError("INTERNAL", `Record ${odd + 1} of a NACHA file has ${records[odd]?.length} characters, not 94.`);
  return { text: `${records.join("\n")}\n`, hash };
}

export const payroll_bank_file = definePrimitive({
  name: "payroll_bank_file",
  effect: "pure",
  summary: "A payroll as a file for the bank, pain.001 or NACHA, with its control totals; every account is checked. Sends nothing.",
  params,
  returns: z.object({
    text: z.string().describe("the whole file"),
    extension: z.enum(["xml", "ach"]),
    count: z.number().describe("payments"),
    total: z.string().describe("control total, decimal text"),
    entry_hash: z.string().nullable().describe("NACHA: of the receiving banks"),
  }),
  errors: ["PAYROLL_ACCOUNT", "JOURNAL_AMOUNT", "JOURNAL_DATE"],
  example: `payroll_bank_file({ format: "pain.001", reference: "PAY-2024-10", created_on: "2024-10-28", pay_date: "2024-10-31", currency: "EUR", payer: { name: "Acme", iban: "DE02120300000000202051" }, payments: [{ id: "E-1", name: "Lukas Braun", iban: "DE89370400440532013000", amount: "3648.00" }] })`,
  run(p) {
    const ids = new Set<string>();
    const twice = p.payments.find(({ id }) => ids.size === ids.add(id).size);
    if (twice !== undefined) refuse(twice.name, `the id ${twice.id} occurs twice`);
    if (p.format === "nacha" && p.currency !== "USD") refuse(p.payer.name, `a NACHA file is in USD, not ${p.currency}`);
    mustBeReadable(p);
    const cents = centsOf(p);
    const total = fixed(sum(p.payments.map((one) => exact(one.amount))), 2);
    const made = p.format === "nacha" ? nacha(p, cents) : { text: pain(p), hash: null };
    return { text: made.text, extension: p.format === "nacha" ? "ach" : "xml", count: p.payments.length, total, entry_hash: made.hash };
  },
});
