/**
 * Our own reader of OFX and QFX, SGML (1.x) and XML (2.x): npm readers fail on what banks write (unclosed tags, CDATA, doubly
 * escaped entities, bare ampersands). One pass over the tags without a tree, so no nesting can exhaust the stack, in linear time for any
 * content: the end of a tag or CDATA section that never ends is searched only once.
 */
import type { Refused } from "../../kernel/ports.ts";
import { amountReader, cleanText, collapse, datePattern, excerpt, isCurrency, PLAIN_AMOUNT, readDay } from "./cells.ts";
import { MOST_ROWS, ROW_LIMIT } from "./csv.ts";
import { DAMAGED, decode, type Encoding, isMultiByteUtf8, unreadable } from "./records.ts";
import { NOTHING_STATED, type ParsedRow, prove, type Refusal, type Statement, toRow } from "./proof.ts";

const POINT = amountReader(PLAIN_AMOUNT);
// OFX 1.0.2, 3.2.9: the decimal mark is a point or a comma, without any thousands mark.
const COMMA = amountReader({ ...PLAIN_AMOUNT, decimal: "," });
const DAY = datePattern("ofx") ?? /$^/;
const FORM = { pattern: DAY, words: "an OFX date" };

const STATEMENTS = new Set(["STMTRS", "CCSTMTRS", "INVSTMTRS"]);
const SECTIONS = new Set(
  (
    "FI BANKACCTFROM CCACCTFROM INVACCTFROM BANKACCTTO CCACCTTO STMTTRN PAYEE CURRENCY ORIGCURRENCY " +
    "LEDGERBAL AVAILBAL BANKTRANLISTP STMTTRNP BALLIST BAL STATUS"
  ).split(" "),
);

/** Raw values of one aggregate by `SECTION.TAG`, with the line of its beginning. */
interface Raw {
  line: number;
  values: Map<string, string>;
}

interface RawStatement extends Raw {
  transactions: Raw[];
  /** Number of purchases, sales and income of an investment account, which are not read. Its INVBANKTRAN are ordinary movements of cash. */
  trades: number;
  card: boolean;
}

/** True when the text at the top of a file is OFX, whatever its name. */
export function isOfx(top: string): boolean {
  return /^\s*OFXHEADER\s*:/i.test(top) || /<OFX[\s>]/i.test(top.slice(0, 4096)) || /<\?OFX\s/i.test(top.slice(0, 4096));
}

/**
 * The statements of the file, one per account.
 * @throws STATEMENT_ENCODING, STATEMENT_INVALID, FILE_TOO_LARGE
 */
export function readOfx(bytes: Uint8Array, defaultCurrency: string): Statement[] {
  const { raw, sender, closed, faults } = collect(decode(bytes, declaredEncoding(bytes)));
  if (!closed) throw unreadable("STATEMENT_INVALID", "The file ends before </OFX>: it is cut off. Download it again.");
  const cash = raw.filter((one) => one.trades === 0 || one.transactions.length > 0);
  const answered = faults.length === 0 ? "" : `The bank answered: ${excerpt(faults.join("; "))}.`;
  if (cash.length === 0) {
    const why =
      answered !== ""
        ? answered
        : raw.length > 0
          ? "It contains only purchases and sales of securities, which are not read; export the cash account, or CSV."
          : "It contains no bank or card statement.";
    throw unreadable("STATEMENT_INVALID", `No statement can be taken from this OFX file. ${why}`);
  }
  return cash.map((one, i) => {
    const statement = toStatement(one, sender, defaultCurrency);
    const warn = (message: string) => statement.warnings.push({ line: one.line, code: "STATEMENT_INVALID", message });
    // Another account of the same file failed at the bank: this statement is complete, the file is not.
    if (i === 0 && answered !== "") warn(answered);
    if (one.trades > 0)
      warn(
        `${one.trades} purchases, sales or payments of securities are not read: only movements of cash are, so its balance cannot be checked.`,
      );
    return statement;
  });
}

function declaredEncoding(bytes: Uint8Array): Encoding {
  const top = new TextDecoder("windows-1252").decode(bytes.subarray(0, 2048));
  // Banks declare 1252 and write UTF-8; text in 1252 is not valid multi-byte UTF-8 by chance.
  if (isMultiByteUtf8(bytes)) return "utf-8";
  const xml = /<\?xml[^>]{0,200}encoding\s*=\s*["']([\w-]{1,40})/i.exec(top)?.[1]?.toLowerCase();
  if (xml !== undefined) return ["iso-8859-1", "latin1", "windows-1252", "cp1252"].includes(xml) ? "windows-1252" : "utf-8";
  return /^(?:CHARSET\s*:\s*(?:1252|ISO-?8859-?1|8859-1|NONE)|ENCODING\s*:\s*USASCII)/im.test(top) ? "windows-1252" : "utf-8";
}

function collect(text: string) {
  const raw: RawStatement[] = [];
  const open: string[] = [];
  let statement: RawStatement | null = null;
  let transaction: Raw | null = null;
  let closed = false;
  const faults: string[] = [];
  let status = new Map<string, string>();
  let sender: string | undefined;
  let count = 0;
  for (const { name, closing, value, line } of ofxTags(text)) {
    if (closing) {
      if (name === "OFX") closed = true;
      if (STATEMENTS.has(name)) [statement, transaction] = [null, null];
      if (name === "STMTTRN") transaction = null;
      if (name === "STATUS") faults.push(...faultOf(status));
      const at = open.lastIndexOf(name);
      if (at >= 0) open.length = at;
    } else if (STATEMENTS.has(name)) {
      statement = { line, values: new Map(), transactions: [], trades: 0, card: name === "CCSTMTRS" };
      raw.push(statement);
      open.length = 0;
    } else if (name === "STMTTRN" && statement !== null) {
      if (++count > ROW_LIMIT)
        throw unreadable("FILE_TOO_LARGE", `The file has more than ${MOST_ROWS} transactions. Export it in shorter ranges.`);
      transaction = { line, values: new Map() };
      statement.transactions.push(transaction);
      open.length = 0;
    } else if (SECTIONS.has(name)) {
      // No real file is nested deeper; hostile nesting loses only its own values.
      if (open.length < 16) open.push(name);
      if (name === "STATUS") status = new Map();
    } else {
      if (open.at(-1) === "FI" && statement === null && value !== "" && (name === "FID" || sender === undefined)) sender = value;
      if (open.at(-1) === "STATUS") status.set(name, value);
      // Every kind of trade in OFX contains one INVTRAN (OFX 2.2, 13.9.2.4).
      if (name === "INVTRAN" && statement !== null) statement.trades++;
      const target = transaction ?? statement;
      const key = open.length === 0 ? name : `${open.at(-1)}.${name}`;
      if (target !== null && value !== "" && !target.values.has(key)) target.values.set(key, value);
    }
  }
  return { raw, sender, closed, faults };
}

/** The error of a STATUS, if it is one: banks also send a message with success ("SUCCESS", "OK"). OFX 2.2, 3.1.4. */
function faultOf(status: ReadonlyMap<string, string>): string[] {
  const [code = "0", severity = ""] = [status.get("CODE"), status.get("SEVERITY")?.toUpperCase()];
  if (severity === "" ? /^0*$/.test(code) : severity !== "ERROR") return [];
  return [status.get("MESSAGE") || `error ${code}`];
}

/** `sender`: the institution of the sign-on. */
function toStatement(raw: RawStatement, sender: string | undefined, defaultCurrency: string): Statement {
  const { values } = raw;
  const stated = values.get("CURDEF")?.trim().toUpperCase() ?? "";
  const currency = isCurrency(stated) ? stated : defaultCurrency;
  const rows: ParsedRow[] = [];
  const refused: Refused[] = [];
  for (const transaction of raw.transactions) {
    const row = rowOf(transaction, currency);
    if ("reason" in row) refused.push({ line: transaction.line, code: "STATEMENT_ROW", message: row.reason });
    else rows.push(row);
  }
  const account =
    collapse(cleanText(values.get("BANKACCTFROM.ACCTID") ?? values.get("CCACCTFROM.ACCTID") ?? values.get("INVACCTFROM.ACCTID") ?? "")) ||
    null;
  // OFX 1.0.2, 11.3.1: an account's id is unique in its bank, branch and kind. A card's names no bank; the sign-on names who sends the file.
  const of = (...tags: string[]) => tags.map((tag) => values.get(tag) ?? "").find((value) => value !== "");
  const institution = of("BANKACCTFROM.BANKID", "INVACCTFROM.BROKERID") ?? sender;
  const kind = of("BANKACCTFROM.ACCTTYPE") ?? (values.has("INVACCTFROM.ACCTID") ? "INVESTMENT" : undefined);
  const parts = [institution, of("BANKACCTFROM.BRANCHID"), kind].filter((part) => part !== undefined);
  const bank = collapse(cleanText(parts.join(" "))) || null;
  const draft = { dialect: "ofx", account, bank, card: raw.card, currency, rows, refused, skipped: 0 };
  const closing = readBalance(values.get("LEDGERBAL.BALAMT"), values.get("LEDGERBAL.DTASOF"), currency);
  return prove(draft, { ...NOTHING_STATED, closing, from: day(values.get("DTSTART")), to: day(values.get("DTEND")) });
}

function rowOf({ line, values }: Raw, statementCurrency: string): ParsedRow | Refusal {
  const of = (...tags: string[]): string => tags.map((tag) => values.get(tag)).find((value) => value !== undefined) ?? "";
  for (const value of values.values()) if (value.includes("\0")) return { reason: DAMAGED };
  const date = of("DTPOSTED");
  if (date === "") return { reason: "The date (DTPOSTED) is empty." };
  // CURRENCY is the currency of the amount; ORIGCURRENCY only that from which it was converted (OFX 1.0.2, 5.2).
  const currency = values.get("CURRENCY.CURSYM")?.trim().toUpperCase() ?? statementCurrency;
  const amount = readAmount(of("TRNAMT"), currency);
  const [name, memo] = [cleanText(of("NAME", "PAYEE.NAME")).trim(), cleanText(of("MEMO")).trim()];
  const text = memo.startsWith(name) ? memo : name.startsWith(memo) ? name : `${name} ${memo}`;
  return toRow({ line, date, currency, amount, text, type: of("TRNTYPE"), id: of("FITID"), counterparty: of("PAYEE.NAME") }, FORM);
}

function readAmount(text: string, currency: string) {
  return text.includes(",") && !text.includes(".") ? COMMA(text, currency) : POINT(text, currency);
}

function readBalance(amount: string | undefined, date: string | undefined, currency: string) {
  const read = readAmount(amount ?? "", currency);
  const asOf = day(date);
  return "amount" in read && asOf !== null ? { date: asOf, amount: read.amount } : null;
}

function day(text: string | undefined): string | null {
  const read = readDay(text ?? "", DAY);
  return "day" in read ? read.day : null;
}

export interface OfxTag {
  /** In capitals. */
  name: string;
  closing: boolean;
  /** Text up to the next tag, entities resolved; "" for closing tags. */
  value: string;
  line: number;
}

const NAME = /([A-Za-z][A-Za-z0-9._]{0,63})(?:\s[^<>]{0,500})?\/?>/y;

export function* ofxTags(text: string): Generator<OfxTag> {
  let current: OfxTag | null = null;
  let value = "";
  let line = 1;
  // Searched once per line: a search at each tag would be quadratic in a file of one line.
  let lineEnd = text.indexOf("\n");
  let at = 0;
  const ends = new Map<string, number>();
  /** Index of a terminator from here on, or -1, which is remembered. */
  const find = (end: string, from: number) => {
    if (ends.get(end) === -1) return -1;
    const found = text.indexOf(end, from);
    if (found < 0) ends.set(end, -1);
    return found;
  };
  const add = (part: string) => {
    // Banks do not write longer values; without the bound a file without tags would be copied for each part.
    if (current !== null && value.length < 4096) value += part;
  };
  while (at < text.length) {
    const open = text.indexOf("<", at);
    const stop = open < 0 ? text.length : open;
    if (stop > at) add(resolveEntities(text.slice(at, Math.min(stop, at + 4096))));
    if (open < 0) break;
    for (; lineEnd >= 0 && lineEnd < open; lineEnd = text.indexOf("\n", lineEnd + 1)) line++;
    const special = specialAt(text, open);
    const end = special === null ? -1 : find(special.end, open + special.start.length);
    if (special !== null && end >= 0) {
      if (special.start === "<![CDATA[") add(text.slice(open + special.start.length, Math.min(end, open + 4096)));
      at = end + special.end.length;
      continue;
    }
    const closing = text.charAt(open + 1) === "/";
    NAME.lastIndex = open + (closing ? 2 : 1);
    const match = NAME.exec(text);
    if (match === null) {
      // A bare "<" in a text, as in `A < B`.
      add("<");
      at = open + 1;
      continue;
    }
    if (current !== null) yield { ...current, value: value.trim() };
    const name = (match[1] ?? "").toUpperCase();
    if (closing) yield { name, closing: true, value: "", line };
    current = closing ? null : { name, closing: false, value: "", line };
    value = "";
    at = NAME.lastIndex;
  }
  if (current !== null) yield { ...current, value: value.trim() };
}

const SPECIALS = [
  { start: "<![CDATA[", end: "]]>" },
  { start: "<!--", end: "-->" },
  { start: "<?", end: "?>" },
];

const specialAt = (text: string, at: number) => SPECIALS.find(({ start }) => text.startsWith(start, at)) ?? null;

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Resolves entities twice, because banks escape text that is already escaped (`&amp;lt;`). An ampersand that begins no entity stays. */
const resolveEntities = (text: string): string => (text.includes("&") ? resolveOnce(resolveOnce(text)) : text);

function resolveOnce(text: string): string {
  return text.replace(
    /&(?:([a-zA-Z]{2,4})|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));/g,
    (whole, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? whole : String.fromCodePoint(code);
    },
  );
}
