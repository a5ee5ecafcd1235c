/**
 * Conditions of policy rules as data (grammar: spec/worker.md 7.6): a text is parsed once, when its policy is loaded, and a condition
 * that cannot be parsed refuses the policy. `print` writes a condition so that parsing gives it back. No I/O, no evaluation.
 */
import { ClearedError } from "../../kernel/errors.ts";
import { dayOrMoment } from "./values.ts";

export type Relation = "==" | "!=" | ">" | ">=" | "<" | "<=";

export type Operand =
  /** Plain decimal text. */
  | { kind: "number"; text: string }
  /** Text in quotation marks. */
  | { kind: "text"; text: string }
  /** YYYY-MM-DD, or a date-time with its zone. */
  | { kind: "date"; text: string }
  | { kind: "boolean"; value: boolean }
  | { kind: "null" }
  /** Another field if one has this name, else (for equality, `in`, `contains`) the word as text. */
  | { kind: "word"; text: string };

export type Atom =
  /** A bare field: true if its value is. */
  | { op: "is"; field: string }
  | { op: "compare"; field: string; relation: Relation; operand: Operand }
  | { op: "in"; field: string; negated: boolean; list: Operand[] }
  | { op: "contains"; field: string; operand: Operand };

export type Condition =
  | { op: "and"; terms: Condition[] }
  | { op: "or"; terms: Condition[] }
  | { op: "not"; term: Condition }
  | { op: "constant"; value: boolean }
  | Atom;

interface Token {
  kind: "number" | "date" | "text" | "word" | "sign" | "end";
  text: string;
  at: number;
}

// A longer condition cannot be reviewed by a person; deeper nesting only occurs in an attack on the stack.
const MAX_LENGTH = 2000;
const MAX_DEPTH = 40;

const TOKEN =
  /\s*(?:(?<date>\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?)(?![\w.])|(?<number>-?\d+(?:_\d{3})*(?:\.\d+)?)(?![\w.]|,\d{3}(?!\d)|\s*%)|(?<text>"(?:[^"\\]|\\.)*"|'[^']*')|(?<word>[\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*)|(?<sign>===|!==|==|!=|>=|<=|&&|\|\||[><!()[\],](?![=>])))/uy;

/** The mistake in text that is not a token, by its beginning. */
const MISTAKES: [RegExp, string][] = [
  [/^-?\d[\d.,_]*\s*%/, "percent signs are not supported; write the number alone, such as `variance_pct > 5`"],
  [/^-?\d{1,3}(?:,\d{3})+(?!\d)/, "thousands separators are not supported; write 5000, and a blank after each comma of a list"],
  [/^-?\.?\d/, "this is not a plain decimal; write digits with at most one point, and dates as YYYY-MM-DD"],
  [/^=>/, "write >= for at least"],
  [/^=/, "write == to compare"],
  [/^[<>]{2}|^[<>!]/, "this is not a comparison; write ==, !=, >, >=, < or <="],
  [/^[&|]/, "write && or ||"],
  [/^["']/, "the quotation mark is not closed"],
];

const SIGNS: Record<string, Relation> = { "==": "==", "===": "==", "!=": "!=", "!==": "!=", ">": ">", ">=": ">=", "<": "<", "<=": "<=" };
const KEYWORDS = new Map(Object.entries({ and: "&&", or: "||", not: "!", in: "in", contains: "contains" }));

function refuse(source: string, at: number, problem: string): never {
  const shown = source.length > 120 ? `${source.slice(0, 117)}...` : source;
  throw new ClearedError("POLICY_INVALID", `\`${shown}\`, character ${at + 1}: ${problem}.`, { data: { offset: at } });
}

function tokens(source: string): Token[] {
  const found: Token[] = [];
  const end = source.trimEnd().length;
  TOKEN.lastIndex = 0;
  for (let at = 0; at < end; at = TOKEN.lastIndex) {
    const groups = TOKEN.exec(source)?.groups;
    const start = at + (/^\s*/.exec(source.slice(at))?.[0].length ?? 0);
    if (groups === undefined) {
      const rest = source.slice(start);
      const mistake = MISTAKES.find(([pattern]) => pattern.test(rest))?.[1];
      refuse(source, start, mistake ?? `${JSON.stringify(rest.slice(0, 1))} is not understood`);
    }
    const [kind, text] = Object.entries(groups).find(([, value]) => value !== undefined) as [Token["kind"], string];
    const keyword = kind === "word" ? KEYWORDS.get(text.toLowerCase()) : undefined;
    found.push(keyword === undefined ? { kind, text, at: start } : { kind: "sign", text: keyword, at: start });
  }
  return [...found, { kind: "end", text: "", at: source.length }];
}

/** @throws POLICY_INVALID naming the character; `data.offset` is its position in the text, from 0 */
export function parseCondition(source: string): Condition {
  if (source.length > MAX_LENGTH) refuse(source, MAX_LENGTH, `a condition has at most ${MAX_LENGTH} characters`);
  const list = tokens(source);
  let next = 0;
  let depth = 0;
  const peek = (): Token => list[next] as Token;
  const fail = (wanted: string): never => {
    const { kind, text, at } = peek();
    return refuse(source, at, `${wanted}, but ${kind === "end" ? "the condition ends" : `${JSON.stringify(text)} is`} here`);
  };
  const accept = (...signs: string[]): string | null =>
    peek().kind === "sign" && signs.includes(peek().text) ? (list[next++] as Token).text : null;

  const chain = (op: "and" | "or", sign: string, part: () => Condition): Condition => {
    const terms = [part()];
    while (accept(sign) !== null) terms.push(part());
    return terms.length === 1 ? (terms[0] as Condition) : { op, terms };
  };
  const either = (): Condition => chain("or", "||", () => chain("and", "&&", not));
  const not = (): Condition => {
    if (++depth > MAX_DEPTH) refuse(source, peek().at, `it is nested deeper than ${MAX_DEPTH} levels; make two rules of it`);
    const found = accept("!") === null ? primary() : { op: "not" as const, term: not() };
    depth--;
    return found;
  };
  const primary = (): Condition => {
    if (accept("(") !== null) {
      const inner = either();
      if (accept(")") === null) fail('a ")" belongs here');
      return inner;
    }
    const { kind, text } = peek();
    if (kind !== "word") return fail("a condition begins with the name of a field (write `amount > 5`, not `5 < amount`)");
    next++;
    if (/^(?:true|false)$/i.test(text)) return { op: "constant", value: text.toLowerCase() === "true" };
    const sign = accept(...Object.keys(SIGNS));
    if (sign !== null) return { op: "compare", field: text, relation: SIGNS[sign] as Relation, operand: operand() };
    if (accept("contains") !== null) return { op: "contains", field: text, operand: operand() };
    const negated = accept("!") !== null;
    if (accept("in") !== null) return { op: "in", field: text, negated, list: items() };
    return negated ? fail('"in" belongs after "not"') : { op: "is", field: text };
  };
  const items = (): Operand[] => {
    const open = accept("[") !== null;
    const found = [operand()];
    while (accept(",") !== null) found.push(operand());
    if (open && accept("]") === null) fail('a "]" belongs here');
    return found;
  };
  const operand = (): Operand => {
    const { kind, text, at } = peek();
    if (kind === "sign" || kind === "end") return fail("a value belongs here");
    next++;
    if (kind === "number") return { kind, text: text.replaceAll("_", "") };
    if (kind === "date")
      return dayOrMoment(text) === null ? refuse(source, at, `${text} is neither a day nor a date-time with its zone`) : { kind, text };
    if (kind === "text") return { kind, text: unquoted(text, () => refuse(source, at, "this text has a wrong escape")) };
    const word = text.toLowerCase();
    if (word === "null") return { kind: "null" };
    return word === "true" || word === "false" ? { kind: "boolean", value: word === "true" } : { kind: "word", text };
  };

  const condition = either();
  return peek().kind === "end" ? condition : fail("&& or || belongs here");
}

function unquoted(text: string, wrong: () => never): string {
  if (text.startsWith("'")) return text.slice(1, -1);
  try {
    return JSON.parse(text.replaceAll("\t", "\\t")) as string;
  } catch {
    return wrong(); // only JSON's escapes are valid
  }
}

/** The condition as text; parsing it gives the same condition. */
export function print(condition: Condition): string {
  switch (condition.op) {
    case "constant":
      return String(condition.value);
    case "is":
      return condition.field;
    case "compare":
      return `${condition.field} ${condition.relation} ${printOperand(condition.operand)}`;
    case "contains":
      return `${condition.field} contains ${printOperand(condition.operand)}`;
    case "in":
      return `${condition.field} ${condition.negated ? "not in" : "in"} [${condition.list.map(printOperand).join(", ")}]`;
    case "not":
      return `!${grouped(condition.term)}`;
    default:
      return condition.terms.map(grouped).join(condition.op === "and" ? " && " : " || ");
  }
}

const grouped = (term: Condition): string => (term.op === "and" || term.op === "or" ? `(${print(term)})` : print(term));

/** What an atom compares its field with. */
export const operandsOf = (atom: Atom): Operand[] => (atom.op === "is" ? [] : atom.op === "in" ? atom.list : [atom.operand]);

/** True for >, >=, < and <=, which only numbers and dates have. */
export const isOrdered = (atom: Atom): boolean => atom.op === "compare" && atom.relation !== "==" && atom.relation !== "!=";

export function atomsOf(condition: Condition): Atom[] {
  if (condition.op === "and" || condition.op === "or") return condition.terms.flatMap(atomsOf);
  if (condition.op === "not") return atomsOf(condition.term);
  return condition.op === "constant" ? [] : [condition];
}

export const wordsIn = (atom: Atom): string[] => operandsOf(atom).flatMap((one) => (one.kind === "word" ? [one.text] : []));
/** The facts that a condition names, and the words it compares them with, which may be facts. */
export const namesIn = (condition: Condition): string[] => atomsOf(condition).flatMap((atom) => [atom.field, ...wordsIn(atom)]);

export function printOperand(operand: Operand): string {
  if (operand.kind === "null") return "null";
  if (operand.kind === "boolean") return String(operand.value);
  return operand.kind === "text" ? JSON.stringify(operand.text) : operand.text;
}
