/**
 * Ranked-list answers in bracket form (spec/worker.md 18, R): converted only where a list was asked for, by the header, the request or a
 * wording listed here. Any other answer stays unchanged.
 */
import type { Json } from "../../kernel/ports.ts";

type Scalar = string | number | boolean;

const isList = (value: Json): value is Scalar[] => Array.isArray(value) && value.every((one) => one !== null && typeof one !== "object");

/** `["A", "B"]`, exactly: texts in the given order, without their own numbering and without empty ones. */
export function bracketAnswer(items: readonly Scalar[]): string {
  const texts = items.map((one) => String(one).replace(/^\s*\d{1,4}[.)]\s+/, "")).map((one) => one.trim());
  return `[${texts
    .filter((one) => one !== "")
    .map((one) => JSON.stringify(one))
    .join(", ")}]`;
}

/** The bracket text of a result that is a list; else null, and the result stays as it is. */
export const rankedAnswer = (result: Json): string | null => (isList(result) ? bracketAnswer(result) : null);

const MANY = "(?:\\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|(?:a )?dozen)(?!\\w|[.,]\\d|\\s?%| percent)";
// A superlative, also as a part: "highest-risk", "most overdue". The excluded words only end like one.
const MOST =
  "(?:top|bottom|best|worst|most|least|(?!(?:inter|requ|cont|prot|harv|inv|for|mod|hon|sugg|dig|arr|manif)est)[a-z]{3,}est)(?![a-z])";
const QUANTITY = `(?:${MOST} ${MANY}|${MANY} (?:of (?:the|our|my|your) )?${MOST})`;
// A verb in the imperative begins a clause; "order 66", "the price list" and "his rank" are nouns.
const ASKING = "(?:^|[.!?;:,\\n]\\s{0,8}|\\b(?:please|and|then|to|you|should)\\s+)";
const PLURAL = "(?:of (?:the|these|those|our) )?(?!does\\b|this\\b)[a-z]{3,}s(?<!ss|us|is)";
const WORDINGS = [
  `${ASKING}(?:rank|enumerate|prioriti[sz]e)\\s+\\w`,
  `${ASKING}list\\s+(?:out\\s+)?(?:the|all|every|each|any|our|my|these|those|your|up to|${MANY})\\b`,
  `${ASKING}(?:sort|order)\\s+(?:the|all|our|my|these|those|them|it)\\b[^.!?\\n]{0,80}\\b(?:by|from|alphabetically|in)\\b`,
  "\\b(?:identify|find|name|select|show|return|give me|give us|show me|tell me) all\\b",
  `\\b(?:name|return|give|show|tell|what are|who are|which are|identify|find|get|pick|choose|select|recommend|suggest|report|provide|determine) (?:me |us )?(?:the |our |my |your )?${QUANTITY}`,
  // Only the quantity: a sentence about it has a verb.
  `^\\s*(?:the |our |my )?${QUANTITY}(?![^.!?]*\\b(?:is|are|was|were|has|have|had|will|must|should|can)\\b)`,
  // With a plural noun ("which process applies" has none), and not the relative "the order which ...".
  `${ASKING}which (?:${MANY} )?${PLURAL}\\b`,
  `${ASKING}(?:which|what) (?:[a-z\\d-]+ ){0,3}?${PLURAL} (?:are|were|have|need|should|must|can|do)\\b`,
  "\\bas an? (?:(?:ranked|sorted|ordered|json|numbered|bulleted) )?(?:list|array)\\b",
  "\\b(?:a|the) ranked list\\b",
  "\\bin (?:descending|ascending|ranked|priority) order\\b",
].map((wording) => new RegExp(wording, "i"));

/** Whether the wording of a task asks for a list. */
export const asksForList = (task: string): boolean => WORDINGS.some((wording) => wording.test(task));
