/**
 * A conversation shortened for reading: the last turns as they were, and of earlier ones only the sentences with
 * a figure, an id, a day or a name. Pure, without a model: the omitted sentences hold nothing that a later turn could refer to.
 */
import type { Session } from "../kernel/ports.ts";

export type Turn = Session["turns"][number];

/** Up to WHOLE turns are left as they are; of a longer conversation, the last LAST. */
const WHOLE = 20;
const LAST = 6;
/** Characters of one turn; a longer text is a document. */
const LONGEST = 16_384;
const ALL = 65_536;

/** `earlier`: oldest first; empty when nothing was left out. */
export type Shortened = Pick<Session, "earlier" | "turns">;

export function shortened(all: readonly Turn[]): Shortened {
  const [before, last] = all.length > WHOLE ? [all.slice(0, -LAST), all.slice(-LAST)] : [[], all];
  const lines = new Set(before.flatMap(({ role, text }) => factsOf(text.slice(0, LONGEST)).map((one) => `${role}: ${one}`)));
  const earlier = [...lines].join("\n");
  const cut = earlier.length - ALL;
  return {
    earlier: cut > 0 ? `(${cut} characters of older turns are left out)\n${earlier.slice(cut)}` : earlier,
    turns: last.map(({ role, text }) => ({ role, text: text.length > LONGEST ? `${text.slice(0, LONGEST)} ...` : text })),
  };
}

// A sentence ends at a mark followed by a blank, so 52,340.00 and 2.2 % stay whole.
const ENDS = /(?<=[.!?;])\s+|\n+/;
// A figure, an id, an amount, or a name or weekday: a capital that does not begin the sentence.
const HOLDS = /[\d$€£]|(?<=\p{L}[\p{L},'’-]*\s+["'(]?)\p{Lu}\p{L}/u;

function factsOf(text: string): string[] {
  return text
    .split(ENDS)
    .map((one) => one.trim())
    .filter((one) => HOLDS.test(one));
}

/** Agrees and asks for nothing: no process continues because of it. */
export function isAssent(text: string): boolean {
  return /^\W*(?:yes|yep|ok|okay|sure|fine|agreed|approved|confirmed|accepted|go ahead|(?:i|we)\s+(?:hereby\s+|do\s+)?(?:approve|accept|agree|confirm))\b/i.test(
    text,
  );
}
