/**
 * Synthetic inputs made from an agent's header: its examples, then usual values, then rare but allowed ones. Values that the scripts compare
 * with are included, so that the branches behind them run. Deterministic for the same scripts.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import { toWire } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import type { Header } from "../../scripts/header.ts";
import { type InputField, validateInput } from "../../scripts/fields.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Config, StatementRule } from "../../workspace/settings/config.ts";
import { IMPORT } from "../../workspace/layout.ts";
import { NO_BANK } from "../../workspace/statements/origin.ts";

/** More would take longer than a person waits for a check. */
const MOST_INPUTS = 12;

/** Inputs that the header accepts, at most twelve. sources: texts of the agent and its sub-scripts. usual: a person might enter it. */
export function inputsOf(header: Header, sources: readonly string[]): { input: Json; usual: boolean }[] {
  const fields = Object.entries(header.input);
  if (fields.length === 0)
    return [...header.examples.map((input) => ({ input, usual: true })), { input: {}, usual: true }].slice(0, MOST_INPUTS);
  const example = header.examples.find((one) => typeof one === "object" && one !== null && !Array.isArray(one)) as
    | Record<string, Json>
    | undefined;
  const literals = literalsOf(sources);
  const whole = Object.fromEntries(fields.map(([name, field]) => [name, example?.[name] ?? usual(name, field)]));
  const required = Object.fromEntries(fields.filter(([, field]) => field.required === true).map(([name]) => [name, whole[name] ?? null]));
  const rare = fields.map(([name, field]) => rareOf(field, literals).map((value) => ({ ...whole, [name]: value })));
  // One of each field in turn, so that the first fields do not use all the places.
  const turns = Array.from({ length: Math.max(...rare.map((one) => one.length)) }, (_, i) => rare.flatMap((one) => one[i] ?? []));
  const seen = new Set<string>();
  const made = [
    ...[...header.examples, required, whole].map((input) => ({ input: input as Json, usual: true })),
    ...turns.flat().map((input) => ({ input: input as Json, usual: false })),
  ];
  return made
    .flatMap(({ input, usual }) => {
      try {
        const checked = validateInput(header, input);
        const key = canonicalJson(checked);
        return seen.has(key) || !seen.add(key) ? [] : [{ input: checked, usual }];
      } catch (error) {
        // The header check reports an example that the header itself refuses.
        if (toWire(error).code === "RUN_INPUT") return [];
        throw error;
      }
    })
    .slice(0, MOST_INPUTS);
}

function usual(name: string, field: InputField): Json {
  if (field.default !== undefined) return field.default as Json;
  if (field.enum !== undefined) return field.enum[0] ?? null;
  return field.type === "string" && /(?:^|_)id$/.test(name) ? "ID-1" : VALUES[field.type][0];
}

const VALUES: Record<InputField["type"], readonly [usual: Json, ...rare: Json[]]> = {
  string: ["sample", "", "x".repeat(2000)],
  number: [12.5, 0, -1, 1e12],
  integer: [3, 0, -1, 1_000_000_000],
  boolean: [true, false],
  money: ["84.00", "0", "-0.01", "999999999999.99"],
  date: ["2026-06-30", "1970-01-01", "2099-12-31", "2028-02-29"],
  list: [["sample"], []],
  object: [{}],
};

/** Allowed but unusual values: limits, every choice, and what the scripts compare with. */
function rareOf({ type, enum: choices }: InputField, { texts, numbers }: ReturnType<typeof literalsOf>): Json[] {
  if (choices !== undefined) return choices.slice(1);
  const own: Record<string, Json[]> = {
    string: texts,
    date: texts,
    money: [...numbers.map(String), ...texts],
    number: numbers,
    integer: numbers,
  };
  return [...(own[type] ?? []), ...VALUES[type].slice(1)];
}

/** Text and number literals in the scripts' comparisons, in order. */
function literalsOf(sources: readonly string[]) {
  const after =
    /(?:[!=]==?|[<>]=?|\bcase|\b(?:startsWith|includes|endsWith|eq|gte?|lte?)\()\s*(?:"([^"\n]{1,80})"|'([^'\n]{1,80})'|(\d{1,12}(?:\.\d{1,6})?))/g;
  const found = sources.flatMap((source) => [...source.matchAll(after)]);
  return {
    texts: [...new Set(found.flatMap(([, double, single]) => double ?? single ?? []))].slice(0, MOST_INPUTS),
    numbers: [...new Set(found.flatMap(([, , , number]) => (number === undefined ? [] : Number(number))))].slice(0, MOST_INPUTS),
  };
}

interface StatementRow {
  text: string;
  amount: string;
  day: number;
}

/** Number of the scripts' vendors that are included; more rows show nothing new. */
const MOST_VENDORS = 15;

/**
 * A synthetic bank statement for agents that import: small, in the usual formats (OFX, and CSV of a dialect in the workspace), with money in
 * and out, a zero amount, duplicate rows, an unknown vendor, another currency, and the vendors that the scripts name.
 * Writes into dir/import/ and returns the file names. month: YYYY-MM. sources: texts of the scripts.
 */
export async function writeStatements(dir: string, month: string, config: Config, sources: readonly string[]): Promise<string[]> {
  const rows = rowsFor(sources);
  // Without a rule for an account the import would ask about it and book nothing.
  const isOfx = ({ match: { bank_account: number, dialect = "ofx", currency = "any" } }: StatementRule) =>
    number !== undefined && dialect === "ofx" && ["any", config.currency].includes(currency);
  const { bank_account: account = "", bank: named = NO_BANK } = config.statements.find(isOfx)?.match ?? {};
  const bank = named === NO_BANK ? "" : named;
  // Without folders: a pattern with ../ in it would lead out of dir.
  const pattern = config.statements.find(({ match }) => match.file?.endsWith(".csv"))?.match.file ?? "sample.csv";
  const csv = basename(pattern.replace(/[*?]/g, "sample"));
  const other = config.currency === "EUR" ? "USD" : "EUR";
  const files = {
    "sample.ofx": ofx(rows, month, { account, bank }, config.currency),
    "sample-abroad.ofx": ofx(rows.slice(0, 2), month, { account, bank }, config.currency, other),
    [csv]: generic(rows, month),
  };
  await mkdir(join(dir, IMPORT), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, IMPORT, name), text);
  return Object.keys(files);
}

function rowsFor(sources: readonly string[]): StatementRow[] {
  // Words in capitals are usually how a bank writes a name.
  const words = sources.flatMap((source) => [...source.matchAll(/["'`]([A-Z][A-Z0-9 .*&'-]{2,30})["'`]/g)].map(([, word]) => word ?? ""));
  const vendors = [...new Set(words)].slice(0, MOST_VENDORS);
  return [
    { text: "CLIENT PAYMENT 4711", amount: "1200.00", day: 2 },
    { text: "UNKNOWN VENDOR 99", amount: "-84.00", day: 3 },
    { text: "CORNER COFFEE", amount: "-4.50", day: 4 },
    { text: "CORNER COFFEE", amount: "-4.50", day: 4 },
    { text: "FEE WAIVED", amount: "0.00", day: 5 },
    ...vendors.map((text, i) => ({ text: `${text} 0${i}`, amount: `-${20 + i}.00`, day: 6 + i })),
  ];
}

const dayOf = (month: string, day: number): string => `${month}-${String(day).padStart(2, "0")}`;

/** With other amounts than the OFX file: equal amounts on equal days would be taken for the same payments. */
function generic(rows: readonly StatementRow[], month: string): string {
  const other = (amount: string): string => (amount === "0.00" ? amount : amount.replace(".", "1."));
  return ["Date,Description,Amount", ...rows.map(({ text, amount, day }) => `${dayOf(month, day)},${text} CSV,${other(amount)}`)].join(
    "\n",
  );
}

function ofx(rows: readonly StatementRow[], month: string, from: Record<"account" | "bank", string>, own: string, currency = own): string {
  const ofxDay = (day: number) => dayOf(month, day).replaceAll("-", "");
  const transactions = rows.map(
    ({ text, amount, day }, i) =>
      `<STMTTRN><TRNTYPE>${amount.startsWith("-") ? "DEBIT" : "CREDIT"}<DTPOSTED>${ofxDay(day)}<TRNAMT>${amount}${currency === own ? "" : `<CURRENCY><CURRATE>1<CURSYM>${currency}</CURRENCY>`}<FITID>${currency}${i}<NAME>${text.replace("&", "&amp;")}</STMTTRN>`,
  );
  return `OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:USASCII
CHARSET:1252
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO</STATUS><DTSERVER>${ofxDay(28)}<LANGUAGE>ENG</SONRS></SIGNONMSGSRSV1>
<BANKMSGSRSV1><STMTTRNRS><TRNUID>0<STATUS><CODE>0<SEVERITY>INFO</STATUS><STMTRS><CURDEF>${own}
<BANKACCTFROM>${from.bank === "" ? "" : `<BANKID>${from.bank}`}${from.account === "" ? "" : `<ACCTID>${from.account}`}</BANKACCTFROM>
<BANKTRANLIST><DTSTART>${ofxDay(1)}<DTEND>${ofxDay(28)}
${transactions.join("\n")}
</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
`;
}
