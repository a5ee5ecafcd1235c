/**
 * The shortest words that occur in some texts and in none of others: the text of a literal rule. Pure. Words that any payee's row may
 * have, and those with the digits of a date or an id, make no rule.
 */
const ANY = new Set(
  "ACH ATM AUTOPAY BILL CARD CHECKCARD COM CREDIT DEBIT DES DIRECT FROM GMBH HTTPS INC INVOICE LLC LTD ONLINE ORIG PAYMENT PAYPAL POS PURCHASE RECURRING REF SEPA THE TRANSFER TST VISA WIRE WITH WWW".split(
    " ",
  ),
);
const WORDS = 4;
const LONG = 6;

/** In capitals, as rules compare. */
export const inCapitals = (text: string): string => text.toUpperCase();

/** The first word of a row that could name its payer or payee; "" when none could. */
export const payeeOf = (text: string): string =>
  wordsIn(text).find(([word]) => !ANY.has(word) && !/\d{3}/.test(word) && /\p{L}{3}/u.test(word))?.[0] ?? "";

const wordsIn = (text: string) => [...inCapitals(text).matchAll(/[\p{L}\p{N}][\p{L}\p{N}'&.-]*[\p{L}\p{N}]|[\p{L}\p{N}]/gu)];

/** Runs of words of a text that could name a payee, shortest first. */
function candidates(text: string): string[] {
  const words = wordsIn(text);
  const found = new Set<string>();
  for (const [i, first] of words.entries())
    for (const last of words.slice(i, i + WORDS)) {
      if (/\d{3}/.test(last[0])) break;
      const run = inCapitals(text).slice(first.index, last.index + last[0].length);
      const names = words.filter((one) => one.index >= first.index && one.index <= last.index && !ANY.has(one[0]));
      if (names.some(([word]) => /\p{L}{3}/u.test(word))) found.add(run);
    }
  return [...found].sort((a, b) => a.length - b.length);
}

/**
 * The shortest text of `own` that is in no text of `others`; null when there is none. All in capitals. It names the payee if any does, before it
 * is in most of `like`: PRO separates "GITHUB *PRO" today and takes PROPERTY TAX tomorrow. Without the payee a few letters are no rule.
 */
export function separatingText(own: string, like: readonly string[], others: readonly string[]): string | null {
  const payee = payeeOf(own);
  const names = (text: string) => Number(wordsIn(text).some(([word]) => word === payee));
  const fit = candidates(own).filter((text) => (names(text) || text.length >= LONG) && !others.some((one) => one.includes(text)));
  const shared = (text: string) => like.filter((one) => one.includes(text)).length;
  return fit.sort((a, b) => names(b) - names(a) || shared(b) - shared(a))[0] ?? null;
}
