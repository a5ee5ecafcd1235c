/**
 * A bank statement for agents that import: small, in the usual shapes (OFX, and the CSV of a dialect the workspace has), with money in and
 * out, an amount of zero, twins, a vendor nobody knows, another currency, and the vendors the scripts know by name.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../workspace/settings/config.ts";
import { IMPORT } from "../../workspace/layout.ts";

interface StatementRow {
  text: string;
  amount: string;
  day: number;
}

/** Vendors of the scripts that are tried: more rows show nothing new. */
const MOST_VENDORS = 15;

/** Writes statements into dir/import/; answers their names. month: YYYY-MM. sources: of the scripts. */
export async function writeStatements(dir: string, month: string, config: Config, sources: readonly string[]): Promise<string[]> {
  const rows = rowsFor(sources);
  // Without a rule it tells no account: one that nobody has named would be asked about, and nothing booked.
  const bank = config.statements.find(({ match }) => match.bank_account !== undefined)?.match.bank_account ?? "";
  const csv = config.statements.find(({ match }) => match.file?.endsWith(".csv"))?.match.file?.replace(/[*?]/g, "sample") ?? "sample.csv";
  const other = config.currency === "EUR" ? "USD" : "EUR";
  const files = {
    "sample.ofx": ofx(rows, month, bank, config.currency),
    "sample-abroad.ofx": ofx(rows.slice(0, 2), month, bank, other),
    [csv]: generic(rows, month),
  };
  await mkdir(join(dir, IMPORT), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, IMPORT, name), text);
  return Object.keys(files);
}

function rowsFor(sources: readonly string[]): StatementRow[] {
  // What is written in capitals is mostly what a bank writes.
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

/** With other amounts than the OFX file: the same ones on the same days would be its payments in another format. */
function generic(rows: readonly StatementRow[], month: string): string {
  const other = (amount: string): string => (amount === "0.00" ? amount : amount.replace(".", "1."));
  return ["Date,Description,Amount", ...rows.map(({ text, amount, day }) => `${dayOf(month, day)},${text} CSV,${other(amount)}`)].join(
    "\n",
  );
}

function ofx(rows: readonly StatementRow[], month: string, bank: string, currency: string): string {
  const ofxDay = (day: number) => dayOf(month, day).replaceAll("-", "");
  const transactions = rows.map(
    ({ text, amount, day }, i) =>
      `<STMTTRN><TRNTYPE>${amount.startsWith("-") ? "DEBIT" : "CREDIT"}<DTPOSTED>${ofxDay(day)}<TRNAMT>${amount}<FITID>${currency}${i}<NAME>${text.replace("&", "&amp;")}</STMTTRN>`,
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
<BANKMSGSRSV1><STMTTRNRS><TRNUID>0<STATUS><CODE>0<SEVERITY>INFO</STATUS><STMTRS><CURDEF>${currency}
<BANKACCTFROM><BANKID>1${bank === "" ? "" : `<ACCTID>${bank}`}<ACCTTYPE>CHECKING</BANKACCTFROM>
<BANKTRANLIST><DTSTART>${ofxDay(1)}<DTEND>${ofxDay(28)}
${transactions.join("\n")}
</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
`;
}
