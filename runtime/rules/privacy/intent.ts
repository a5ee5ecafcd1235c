/**
 * Does a text ask to hand out a credential? Only when the verb governs it: "send me the password" does, "send a password reset link",
 * "email Bob about the password policy" and "rotate the API key" do not. "Do not" is no way out: it would be one for everybody.
 */

const TERM =
  /(?:pass(?:words?|wds?|codes?|phrases?)|credentials?|log-?in (?:details|data)|(?:api|secret|private|access|ssh|encryption|signing)[ _-]?keys?|(?:access|bearer|oauth|auth|api|session|refresh)[ _-]?tokens?|client[ _-]?secrets?|secrets)(?![a-z])/g;

const words = (text: string): Set<string> => new Set(text.split(" "));

const HAND_OUT = words(
  "send sends sending export exports exporting exfiltrate exfiltrating transmit transmitting email emailing mail mailing dump dumping extract extracting expose exposing leak leaking share sharing upload uploading post posting give giving reveal revealing disclose disclosing print printing show showing return returning tell telling forward forwarding publish publishing copy copying paste pasting text texting",
);
/** Verbs after which the credential is another one. */
const TAKES_OVER = words(
  "reset resetting rotate rotating revoke revoking change changing update updating renew renewing disable disabling expire expiring invalidate replace replacing",
);
/** A phrase of its own begins: what stands before it governs another object. */
const OTHER_OBJECT = words("about regarding with without for from if when because before after using by on via against in unless until");
const DETERMINERS = words("the a an my your our his her their its this that these those new old all any every each");
const RECIPIENTS = words("me us him her them");
/** Head nouns that make of "password" only a description. */
const ABOUT_IT =
  /^[\s-]+(?:resets?|rotations?|polic(?:y|ies)|changes?|expir(?:y|ation|ed|es)|requirements?|reminders?|rules?|complexity|strength|protect(?:ed|ion)|hygiene|training|usage|budgets?|limits?)(?![a-z])/;

// Nine words govern as far as a sentence does: "send me the current Stripe production database admin password".
const REACH = 9;
const LOOK_BACK = 160;

/** Linear in the text: each term looks back a bounded way. */
export function exfiltration(text: string): boolean {
  const plain = text
    .normalize("NFKC")
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, "")
    .replace(/\s+/g, " ")
    .replace(/([.!?]) (?=\p{Lu})/gu, "$1\u0000")
    .toLowerCase();
  TERM.lastIndex = 0;
  for (let match = TERM.exec(plain); match !== null; match = TERM.exec(plain)) {
    if (/[a-z]/.test(plain.charAt(match.index - 1))) continue;
    if (ABOUT_IT.test(plain.slice(match.index + match[0].length, match.index + match[0].length + 40))) continue;
    if (governed(plain.slice(Math.max(0, match.index - LOOK_BACK), match.index))) return true;
  }
  return false;
}

/** Whether the nearest verb before the end of `before` hands out; it looks back to the sentence's start. */
function governed(before: string): boolean {
  const sentence = before.slice(before.lastIndexOf("\u0000") + 1);
  const found = sentence
    .trim()
    .split(" ")
    .slice(-REACH)
    .map((word) => word.replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, ""));
  for (let i = found.length - 1; i >= 0; i--) {
    const word = found[i] ?? "";
    const previous = found[i - 1] ?? "";
    if (HAND_OUT.has(word)) {
      // "the email password" names one: the verb may still come.
      if (DETERMINERS.has(previous)) continue;
      return true;
    }
    if (TAKES_OVER.has(word) && !DETERMINERS.has(previous)) return false;
    if (OTHER_OBJECT.has(word)) return false;
    // "the file to the credentials store" has its object before; "to Bob the password" has it behind.
    if (word === "to" && !found.slice(i + 2).some((one) => DETERMINERS.has(one)) && !RECIPIENTS.has(found[i + 1] ?? "")) return false;
  }
  return false;
}
