/**
 * Whether the words of a task only ask, or ask for something to be done. A task that only asks gets a machine that may only look
 * (states.ts `readOnlyMachine`), so a wrong "readonly" leaves work undone and a wrong "full" costs nothing: the gates stay. Pure.
 * Source: spec/worker.md 4.1, with nouns and negation told apart (4, R).
 */

/** Above this, a text is a task with a preamble, not a question (4.1). */
const LONGEST_QUESTION = 120;

const QUESTION =
  /\b(?:what (?:is|are|was|were)|what's|whats the|show me|get me|give me|find|list|status of|how many|who (?:is|are|was|were)|when (?:is|are|was|were)|when|where (?:is|are|was|were)|tell me|display|check|look up|retrieve|can you show)\b/;

/** Words that can only mean: do it. */
const VERBS =
  "approve reject create update delete remove add insert cancel void reverse submit send apply assign move put save write enroll activate deactivate enable disable unlock escalate resolve complete finish terminate suspend resume pay collect disburse schedule notify dispatch unlink attach detach replace modify handle execute perform manage implement initiate trigger generate produce fulfill provision onboard offboard migrate reconcile settle adjust override authorize certify validate confirm acknowledge remediate revoke reset deprovision register";
/** Words that ask for an act only where a clause begins: "credit the account", but "the credit", "open orders", "status of invoice 7". */
const NOUNS =
  "close open post transfer mark set record log lock flag refund charge credit debit invoice bill book alert route forward merge split link change process run issue clear";

const wordsOf = (text: string): string => text.replaceAll(" ", "|");
const ACT = new RegExp(
  `\\b(?:${wordsOf(VERBS)})\\b|(?:^|[.,;:!?\\n]\\s*|\\b(?:and|then|please|to|or|also|now|you|must|should|will|would|can|could|we|i|let's|not)\\s+)(?:${wordsOf(NOUNS)})\\b`,
);
/** "do not modify", "never pay or refund", "without posting": the words that follow ask for nothing. */
const NEGATED = /\b(?:do not|don't|never|must not|without)\s+\w+(?:(?:\s*,\s*\w+){0,20},?\s+(?:or|nor)\s+\w+)?/g;

/** `readonly` only for a short question without a word that asks for an act. */
export function complexityOf(text: string): "readonly" | "full" {
  if (text.length > LONGEST_QUESTION) return "full";
  const asked = text.toLowerCase().replaceAll("\u2019", "'").replace(NEGATED, " ");
  return QUESTION.test(asked) && !ACT.test(asked) ? "readonly" : "full";
}
