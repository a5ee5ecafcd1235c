/** The list of rules of a script: objects with a `text` and an `account`; for a row, the first rule whose text it contains applies. */
import { inCapitals } from "../rules/separating-text.ts";
import { type Node, literalText, parseScript, valueIn, within } from "./syntax.ts";

interface Row {
  node: Node;
  text: string;
  account: Node;
}

function rowOf(node: Node | null): Row | null {
  if (node?.type !== "ObjectExpression") return null;
  const [text, account] = [literalText(valueIn(node, "text")), valueIn(node, "account")];
  return text === null || account?.type !== "Literal" ? null : { node, text, account };
}

/**
 * The script with a rule for `text`: the account of an existing rule with that text is changed, else a rule is inserted before the first
 * rule that matches one of `rows`, or at the end if none does. Unchanged if it has the rule; null: there is no such list.
 */
export function withRule(
  source: string,
  rule: { text: string; account: string; vendor: string; confidence: string },
  rows: readonly string[],
): string | null {
  const table = parseScript(source, "ts")
    .body.flatMap((node) => [...within(node)])
    .find(({ type, elements }) => type === "ArrayExpression" && (elements as (Node | null)[]).some((one) => rowOf(one) !== null));
  const all = ((table?.["elements"] ?? []) as (Node | null)[]).flatMap((one) => rowOf(one) ?? []);
  const [first] = all;
  if (first === undefined) return null;
  // A number if its neighbours have numbers.
  const account = typeof first.account["value"] === "number" ? rule.account : JSON.stringify(rule.account);
  const own = all.find(({ text }) => inCapitals(text) === rule.text);
  if (own !== undefined) return source.slice(0, own.account.start) + account + source.slice(own.account.end);
  const taken = all.find(({ text }) => rows.some((row) => inCapitals(row).includes(inCapitals(text))));
  const last = all.at(-1) ?? first;
  const at = (taken ?? last).node;
  const indent = /[ \t]*$/.exec(source.slice(0, at.start))?.[0] ?? "";
  const cells = [`text: ${JSON.stringify(rule.text)}`, `account: ${account}`];
  for (const name of ["vendor", "confidence"])
    if (valueIn(first.node, name) !== undefined)
      cells.push(name === "vendor" ? `vendor: ${JSON.stringify(rule.vendor)}` : `confidence: ${rule.confidence}`);
  const line = `{ ${cells.join(", ")} }`;
  return taken === undefined
    ? `${source.slice(0, at.end)},\n${indent}${line}${source.slice(at.end)}`
    : `${source.slice(0, at.start)}${line},\n${indent}${source.slice(at.start)}`;
}
