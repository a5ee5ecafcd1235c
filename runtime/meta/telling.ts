/**
 * What a model may say to a person in its own words: no address that the person did not mention, and no question for a secret. A text it has
 * read may have asked for that, and its words are the only thing that reaches a person without being computed.
 */
import { normalText } from "../rules/grounding.ts";
import { callsMade } from "./requests.ts";
import type { Situation } from "./workshop.ts";

const SECRET =
  /\b(?:passwor[dt]|pass ?phrase|pass ?code|api[ -]?key|secret|private key|(?:access|bearer) token|credentials?|pin(?: code)?|cvv|cvc|tan|otp|2fa|one-time (?:code|password)|(?:seed|recovery) phrase|iban|(?:card|account|social security|kontonummer) ?numbers?|kontonummer|kennwort|geheimzahl|mot de passe|contraseña|senha|parola|wachtwoord|hasło|lösenord|heslo|пароль)(?![\p{L}\p{N}])|密码|密碼|パスワード|비밀번호/u;
// Matched however it is spaced, because no other words contain these letters.
const SPELLED = /password|passphrase|passcode|passwort|kennwort|motdepasse|apikey|privatekey|cardnumber|accountnumber/;

// Access without a word for a secret: "the words you use to sign in".
const SIGN_IN = /\b(?:log|sign)(?:ging|ning)?[ -]?(?:in|on)\b/u;
// The words may be in any language; requests for something are recognized in a few.
const WANTS =
  /\b(?:reply|respond|answer|send|tell|enter|type|give|provide|share|paste|submit|write|need|please|supply|confirm|forward|mail|message|disclose|reveal|state|let (?:me|us)|required?|bitte|schick\w*|senden|nennen|teilen|envoyez|donnez|env[ií]\w+|what (?:is|are))\b|\?/u;
/** A secret mentioned beside one of these, or to be stored somewhere, is requested back. */
const BACK = /\b(?:reply|respond|send|share|paste|submit|enter|type|mail|forward)\b.*\b(?:it|them|that|those|me|us|your|here)\b|\?/u;

/** In a question, any word for a secret; in a statement (`says`), a sentence that requests one. `cleared secrets` asks for its values itself. */
export function asksForSecret(text: string, says = false): boolean {
  const parts = (says ? text.split(/(?<=[.!?])\s|\n/) : [text]).map(normalText);
  const isOne = (plain: string) => SECRET.test(plain) || SIGN_IN.test(plain) || SPELLED.test(plain.replace(/[^\p{L}]+/gu, ""));
  const isTaken = (plain: string) => (plain.includes("cleared secrets") ? BACK : WANTS).test(plain);
  return parts.some((one, i) => isOne(one) && (!says || isTaken(one) || (SECRET.test(one) && BACK.test(parts[i + 1] ?? ""))));
}

export const NEVER_ASKED = "Secrets and account numbers are never asked for here: a person stores them with `cleared secrets set NAME`.";

const LINK =
  /[a-z][a-z0-9+.-]{1,20}:\/\/\S+|[^\s@<>()]{1,64}@[^\s@<>()]{1,250}|(?<![\p{L}\p{N}_/.-])(?:[\p{L}\p{N}-]{1,63}\.){1,8}[\p{L}]{2,24}(?![\p{L}\p{N}_])(?:\/\S*)?/gu;
const FILE = /\.(?:ts|js|ya?ml|md|journal|csv|json|txt)$/;

/** What the person said: the request, and answers to questions. */
export function wordsOf({ ask, messages }: Pick<Situation, "ask" | "messages">): string {
  const answers = callsMade(messages).flatMap(({ call, result }) =>
    call.tool === "ask_user" && result.failed !== true ? [result.text] : [],
  );
  return [ask.text, ...answers].join("\n");
}

/** Web and mail addresses in a text that occur in none of the known texts. A dotted name is one unless each of its parts is known. */
export function strangeAddresses(text: string, known: string): string[] {
  const ground = normalText(known);
  const parts = new Set(ground.match(/[\p{L}\p{N}-]+/gu));
  return (normalText(text).match(LINK) ?? []).filter((found) => {
    const bare = found.replace(/[.,;:!?"')\]]+$/, "");
    const isPlain = !/[:@/]/.test(bare);
    return !ground.includes(bare) && !(isPlain && (FILE.test(bare) || bare.split(".").every((part) => parts.has(part))));
  });
}

/** Replaces each of them with a mark. */
export const withoutAddresses = (text: string, known: string): string =>
  strangeAddresses(text, known).length === 0
    ? text
    : normalText(text).replace(LINK, (found) => (strangeAddresses(found, known).length === 0 ? found : "[address]"));
