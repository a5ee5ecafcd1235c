/**
 * The rule that an answer adds to `statements:` of config.yaml: one item at the end of the list. It says the same on whatever else the file
 * holds, so the answers to several questions about accounts never overtake each other.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import { spelledOut } from "../../kernel/text.ts";
import { withItem } from "../../scripts/yaml-text.ts";
import { type StatementRule, parseConfig } from "../settings/config.ts";

type Answer = Pick<StatementRule, "match" | "account">;

export const isSameMatch = (one: Answer["match"], other: Answer["match"]): boolean => canonicalJson(one) === canonicalJson(other);

/** `{match: {file: "giro-{date}.csv", dialect: "generic"}, account: 1010}` */
export function itemOf({ match, account }: Answer): string {
  const conditions = Object.entries(match).map(([key, value]) => `${key}: ${spelledOut(JSON.stringify(value))}`);
  return `{match: {${conditions.join(", ")}}, account: ${account}}`;
}

/** config.yaml with this rule as the last. */
export const withAnswer = (config: string, answer: Answer): string => withItem(config, "statements", itemOf(answer));

/**
 * The change from `was` to `then` made to `now`, if it only adds such a rule; null for any other change, or if `now` has a rule for its match.
 * @throws CONFIG_INVALID
 */
export function rebased(was: string | null, then: string | null, now: string | null): string | null {
  if (was === null || then === null || now === null) return null;
  const answer = parseConfig(then).statements.at(-1);
  if (answer === undefined || withAnswer(was, answer) !== then) return null;
  return parseConfig(now).statements.some(({ match }) => isSameMatch(match, answer.match)) ? null : withAnswer(now, answer);
}
