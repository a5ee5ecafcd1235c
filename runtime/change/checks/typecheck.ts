/**
 * Type check of agent scripts by the native TypeScript 7 compiler (compiler.ts), each file on its own.
 * Comparing and adding text is legal TypeScript, so operators on Money and Decimal are found from the types of their operands.
 */
import type { Checker, Diagnostic, Project, Type } from "typescript/unstable/async";
import type { BinaryExpression, Node, SourceFile } from "typescript/unstable/ast";
import type { At } from "../../kernel/errors.ts";
import { primitiveTypes } from "../../kernel/derive.ts";
import type { Finding } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { InputField } from "../../scripts/fields.ts";
import { CompilerGone, compilerNames, withProject } from "./compiler.ts";
import type { ScriptToCheck } from "./lint.ts";

interface Checked {
  /** Path used in findings: agents/ingest.ts */
  file: string;
  source: string;
  /** Type of the global `input` as text; `any` by default. */
  input?: string | undefined;
}

/** Types and money, each script separately. `told`: the findings of lint; compiler messages about the same line are omitted. */
export async function typeScripts(
  scripts: readonly Pick<ScriptToCheck, "file" | "source" | "header">[],
  registry: Registry,
  told: readonly Finding[],
): Promise<Finding[]> {
  const files = scripts.map(({ file, source, header }) => ({ file, source, input: header === null ? undefined : inputType(header.input) }));
  const lines = new Set(told.map(({ at }) => `${at.file}:${at.line}`));
  return (await typecheck(files, typesOf(registry))).filter(
    ({ code, at }) => !(code === "SCRIPT_TYPES" && lines.has(`${at.file}:${at.line}`)),
  );
}

const typings = new WeakMap<Registry, string>();

/** The typings, generated once per registry: that takes longer than checking a script against them. */
export const typesOf = (registry: Registry): string => typings.getOrInsertComputed(registry, () => primitiveTypes(registry.all()));

const FIELD_TYPES: Record<InputField["type"], string> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  money: "Money",
  date: "string",
  list: "any[]",
  object: "Record<string, any>",
};

/** Type of the global `input` for a header's `input:`; undefined if the header declares none. */
export function inputType(fields: Record<string, InputField>): string | undefined {
  const entries = Object.entries(fields);
  if (entries.length === 0) return undefined;
  const types = entries.map(([key, one]) => {
    const type = one.enum === undefined ? FIELD_TYPES[one.type] : one.enum.map((value) => JSON.stringify(value)).join(" | ");
    return `${key}${one.required === true || one.default !== undefined ? "" : "?"}: ${type}`;
  });
  return `{ ${types.join("; ")} }`;
}

// `return` and `await` are legal inside, names stay local to the script, and line numbers are unchanged.
const open = ({ input }: Checked): string => `(async function (${input === undefined ? "" : `input: ${input}`}) {`;
const close = ({ input }: Checked): string => `\n})(${input === undefined ? "" : "null as any"});export {};`;

// 7005..7057: something is implicitly `any`. Agent scripts may omit types, as in plain JavaScript.
const isImplicitAny = (code: number): boolean => code >= 7000 && code < 7100;

/** Findings SCRIPT_TYPES and SCRIPT_MONEY, file by file in source order. Never throws because of a script's content. */
export async function typecheck(files: readonly Checked[], typesText: string): Promise<Finding[]> {
  if (files.length === 0) return [];
  const texts = new Map([
    ["primitives.d.ts", typesText],
    ...files.map((file, i): [string, string] => [`${i}.ts`, (open(file) + file.source + close(file)).toWellFormed()]),
  ]);
  const found = await withProject(texts, async (project, path) => {
    const findings: Finding[] = [];
    for (const [i, file] of files.entries()) findings.push(...(await checkFile(project, path(`${i}.ts`), file)));
    return findings;
  });
  if (!(found instanceof CompilerGone)) return found;
  const message = `The type checker ${found.why}. Look for very deep nesting, or split the script.`;
  return [{ code: "SCRIPT_TYPES", at: { file: files[0]?.file ?? "" }, message }];
}

async function checkFile(project: Project, path: string, file: Checked): Promise<Finding[]> {
  const locate = locator(file);
  const syntactic = await project.program.getSyntacticDiagnostics(path);
  // After a syntax error all other messages are noise.
  if (syntactic.length > 0) return [...syntactic].map((one) => toFinding(one, locate)).slice(0, 5);
  const [semantic, money] = [await project.program.getSemanticDiagnostics(path), await moneyOperators(project, path)];
  const found = [
    // A finding about an operator on money replaces the compiler's message about the same operator.
    ...semantic
      .filter(
        (one) => !isImplicitAny(one.code) && !money.some((use) => one.pos >= use.pos && one.end <= use.end && isOperatorCode(one.code)),
      )
      .map((one) => ({ pos: one.pos, finding: toFinding(one, locate) })),
    ...money.map((use) => ({ pos: use.pos, finding: { code: "SCRIPT_MONEY", at: locate(use.pos), message: use.message } })),
  ];
  return found.sort((a, b) => a.pos - b.pos).map((one) => one.finding);
}

// 2356, 2362, 2363: operand must be a number; 2365: operator cannot be applied; 2367: no overlap.
const isOperatorCode = (code: number): boolean => [2356, 2362, 2363, 2365, 2367].includes(code);

function toFinding(diagnostic: Diagnostic, locate: (pos: number) => At): Finding {
  const texts = [diagnostic.text];
  for (let chain = diagnostic.messageChain; chain !== undefined && chain.length > 0; chain = chain.at(-1)?.messageChain)
    texts.push(chain.at(-1)?.text ?? "");
  // The two innermost messages say what is wrong; the outer ones say where it was noticed, with whole types.
  const text = texts
    .slice(-2)
    .join(" ")
    .replace(/^The last overload gave the following error\. /, "");
  const hint = /'MoneyInput\b/.test(text) ? ' Pass an amount of a row, text such as "42.99" written in place, or new Decimal(text).' : "";
  return { code: "SCRIPT_TYPES", at: locate(diagnostic.pos), message: `${text.replace(/\s+/g, " ").slice(0, 600)}${hint}` };
}

/** From a position in the wrapped text to line and column in the script. */
function locator(checked: Checked): (pos: number) => At {
  const { file, source } = checked;
  const start = open(checked).length;
  return (pos) => {
    const before = source.slice(0, Math.max(pos - start, 0));
    return { file, line: before.split("\n").length, col: before.length - before.lastIndexOf("\n") };
  };
}

const METHODS: Record<string, string> = {
  "<": "lt",
  "<=": "lte",
  ">": "gt",
  ">=": "gte",
  "==": "eq",
  "!=": "eq",
  "===": "eq",
  "!==": "eq",
  "+": "plus",
  "-": "minus",
  "*": "times",
  "/": "div",
  "%": "mod",
  "**": "pow",
};

/** Operators with a Money or Decimal operand. `"text" + money` and comparisons with undefined or null are allowed. */
async function moneyOperators(project: Project, path: string) {
  const file = await project.program.getSourceFile(path);
  if (file === undefined) return [];
  const operations = await operationsOf(file);
  const types = await project.checker.getTypeAtLocation(operations.flatMap((one) => one.operands));
  const kinds = await kindsOf(project.checker, types);
  const uses: { pos: number; end: number; message: string }[] = [];
  let next = 0;
  for (const { node, operator, operands } of operations) {
    const [left, right] = operands.map(() => kinds[next++] ?? "other");
    if (!refused(operator, left ?? "other", right)) continue;
    const what = left === "Decimal" || right === "Decimal" ? "a Decimal" : "money, which is text";
    const message = `The operator ${operator} does not work on ${what}. ${advice(operator, right === undefined)}`;
    uses.push({ pos: node.getStart(file), end: node.end, message });
  }
  return uses;
}

type Kind = "Money" | "Decimal" | "text" | "number" | "nothing" | "other";

const isMoney = (kind: Kind | undefined): boolean => kind === "Money" || kind === "Decimal";

function refused(operator: string, left: Kind, right: Kind | undefined): boolean {
  if (!isMoney(left) && !isMoney(right)) return false;
  const kinds = [left, right];
  // Any value may be compared with undefined or null.
  if (/^[!=]==?$/.test(operator)) return !kinds.includes("nothing") && !kinds.includes("other");
  // Building a sentence is allowed, except with a Decimal, whose valueOf throws: it needs .toString().
  if ((operator === "+" || operator === "+=") && right !== undefined)
    return kinds.includes("Decimal") || !(kinds.includes("text") || kinds.includes("other"));
  return true;
}

function advice(operator: string, unary: boolean): string {
  if (unary) return operator === "-" ? "Write new Decimal(amount).neg()." : "Write new Decimal(amount) and a method such as .plus.";
  const method = METHODS[operator] ?? METHODS[operator.replace(/=$/, "")] ?? "plus";
  return `Write ${operator.startsWith("!") ? "!" : ""}new Decimal(a).${method}(b).`;
}

async function operationsOf(file: SourceFile) {
  const { SyntaxKind } = await compilerNames();
  const found: { node: Node; operator: string; operands: Node[] }[] = [];
  const checked = /^(?:[<>]=?|[!=]==?|[-+*/%]=?|\*\*=?)$/;
  const visit = (node: Node): void => {
    if (node.kind === SyntaxKind.BinaryExpression) {
      const { left, operatorToken, right } = node as BinaryExpression;
      const operator = file.text.slice(operatorToken.getStart(file), operatorToken.end);
      if (checked.test(operator)) found.push({ node, operator, operands: [left, right] });
    } else if (node.kind === SyntaxKind.PrefixUnaryExpression || node.kind === SyntaxKind.PostfixUnaryExpression) {
      const { operand } = node as Node & { operand: Node };
      const operator = (file.text.slice(node.getStart(file), operand.getStart(file)) + file.text.slice(operand.end, node.end)).trim();
      if (/^(?:\+\+?|--?)$/.test(operator)) found.push({ node, operator, operands: [operand] });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

/** Kind of each type; asked once per distinct type, because each question is a round trip. */
async function kindsOf(checker: Checker, types: readonly (Type | undefined)[]): Promise<Kind[]> {
  const { SymbolFlags, TypeFlags } = await compilerNames();
  const declared = async (name: string, flags: number): Promise<Type | undefined> => {
    const symbol = await checker.resolveName(name, flags);
    return symbol === undefined ? undefined : checker.getDeclaredTypeOfSymbol(symbol);
  };
  const [money, decimal] = [await declared("Money", SymbolFlags.TypeAlias), await declared("Decimal", SymbolFlags.Interface)];
  const kindOf = async (type: Type): Promise<Kind> => {
    if (type.flags & (TypeFlags.AnyOrUnknown | TypeFlags.Never)) return "other";
    if (type.flags & TypeFlags.Union) {
      const parts = await Promise.all((await (type as Type & { getTypes(): Promise<readonly Type[]> }).getTypes()).map(once));
      const present = parts.filter((part) => part !== "nothing");
      return (
        present.find((part) => part === "Decimal") ??
        present.find((part) => part === "Money") ??
        (present.every((part) => part === present[0]) ? (present[0] ?? "nothing") : "other")
      );
    }
    if (type.flags & (TypeFlags.Nullable | TypeFlags.Void)) return "nothing";
    if (type.flags & (TypeFlags.Number | TypeFlags.NumberLiteral | TypeFlags.BigInt | TypeFlags.BigIntLiteral)) return "number";
    if (type.flags & (TypeFlags.String | TypeFlags.StringLiteral | TypeFlags.TemplateLiteral | TypeFlags.StringMapping)) return "text";
    if (money !== undefined && (type.id === money.id || (await checker.isTypeAssignableTo(type, money)))) return "Money";
    if (decimal !== undefined && (type.id === decimal.id || (await checker.isTypeAssignableTo(type, decimal)))) return "Decimal";
    return "other";
  };
  const seen = new Map<Type["id"], Promise<Kind>>();
  const once = (type: Type): Promise<Kind> => seen.getOrInsertComputed(type.id, () => kindOf(type));
  return Promise.all(types.map((type) => (type === undefined ? "other" : once(type))));
}
