/**
 * Text as a reader sees it: which characters are invisible, how they are shown, and which words are written to look like others.
 * Everything untrusted that is printed, listed or reviewed goes through here; code written by people and models must pass it.
 */
import type { Json, LlmPart } from "./ports.ts";

// Invisible characters, and those that move the cursor, change the direction, or end a line for some programs only. Line feed and tab
// count as seen, and so does a carriage return before a line feed.
const UNSEEN = /[^\P{Cc}\n\t]|[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u2800]/u;
// Emoji consist of several characters, some of them unseen. The set is large, so it is tested only where something unseen was found.
const emojiOrUnseen = (): RegExp =>
  /\p{RGI_Emoji}|[^\P{Cc}\n\t]|[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u2800]/gv;
const isEmoji = (sign: string): boolean => !UNSEEN.test(sign) || [...sign].length > 1;

/** The characters that a reader would not see, with their positions. */
export function* unseenIn(text: string): Generator<{ index: number; sign: string }> {
  if (!UNSEEN.test(text)) return;
  for (const { 0: sign, index } of text.matchAll(emojiOrUnseen())) {
    // Editors write a byte order mark at the very start.
    if (isEmoji(sign) || (sign === "\ufeff" && index === 0)) continue;
    if (sign !== "\r" || text[index + 1] !== "\n") yield { index, sign };
  }
}

/** The text with unseen characters, and letters that look like others in their word, as JSON escapes; emoji stay. */
export function visible(text: string): string {
  const read = ASCII.test(text) ? text : text.replace(WORD, (word) => (MIXED_WORD.test(word) ? word.replace(/./gu, escapeMixed) : word));
  return UNSEEN.test(read) ? read.replace(emojiOrUnseen(), (sign) => (isEmoji(sign) ? sign : escaped(sign))) : read;
}

const escapeMixed = (letter: string): string => (MIXED_WORD.test(`a${letter}`) ? escaped(letter) : letter);

/** `\u202e`; two of them for a character above U+FFFF. */
export function escaped(sign: string): string {
  return [...Array(sign.length).keys()].map((i) => `\\u${sign.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
}

/** Untrusted text on one line, cut. Unseen characters stay; whoever prints it escapes them. */
export function oneLine(text: string, limit = 300): string {
  const line = text.replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** A line of a report, with its ‹code› in backquotes. */
export const asCode = (line: string): string => line.replace(/[‹›]/g, "`");

/** A text cut to `most` characters. */
export const clip = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

/** A value as JSON, cut to `most` characters. */
export const shortJson = (value: unknown, most: number): string => clip(JSON.stringify(value) ?? "nothing", most);

/** The text of a model's answer: all its text parts joined. */
export const textIn = (parts: readonly LlmPart[]): string => parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");

/** "1 run", "2 entries". */
export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

/** The value of a text that may be JSON; undefined for any other text. */
export function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The first `most` of the lines, and how many more there are. */
export const upTo = (lines: readonly string[], most: number): string[] =>
  lines.length <= most ? [...lines] : [...lines.slice(0, most), `and ${lines.length - most} more`];

/** `a, b and 2 more` */
export const namedUpTo = (names: readonly string[], most: number): string =>
  `${names.slice(0, most).join(", ")}${names.length > most ? ` and ${names.length - most} more` : ""}`;

// Cyrillic and Greek letters that most fonts draw like a Latin one (Unicode confusables.txt, those of one letter).
const LOOKALIKES = "аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌ" + "ονρυΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ɑɡօոսհ";
// Letters in another form (full width, mathematical), and scripts with many letters drawn like Latin ones; harmless in a word of their own.
const FORMS = "\\p{Script=Cherokee}\\p{Script=Lisu}\\p{Script=Coptic}Ａ-Ｚａ-ｚ\\u{1d400}-\\u{1d7ff}";
const MIXED_WORD = new RegExp(`^(?=.*\\p{Script=Latin})(?=.*[${LOOKALIKES}])|^(?=.*[A-Za-z])(?=.*[${FORMS}])`, "u");
const ALL_LOOKALIKES = new RegExp(`^[${LOOKALIKES}\\d_$]*[${LOOKALIKES}][${LOOKALIKES}\\d_$]*$`, "u");
const ASCII = /^[\0-\x7f]*$/;
const WORD = /[\p{L}\p{M}\p{N}_$]+/gu;

/** Words that mix Latin letters with others that look like them, with their positions. */
function* mixedWordsIn(text: string): Generator<{ index: number; word: string }> {
  if (ASCII.test(text)) return;
  for (const { 0: word, index } of text.matchAll(WORD)) if (MIXED_WORD.test(word)) yield { index, word };
}

// A character that looks like a space but does not compare equal; code so far to the right that no screen shows it.
const ODD_BLANKS = /(?! )\p{Zs}|[ \t]{80,}(?=\S)/gu;

/** Places in a text that a reviewer would not see, or would misread, each with what to do about it. */
export function* hiddenIn(text: string): Generator<{ index: number; message: string }> {
  for (const { index, sign } of unseenIn(text)) {
    const what = /[\r\u2028\u2029\u0085]/.test(sign) ? "ends a line for a program but not for a reader" : "is invisible to a reader";
    yield { index, message: `The character ${codeOf(sign)} ${what}. Delete it, or write it as "${escaped(sign)}".` };
  }
  for (const { index, word } of mixedWordsIn(text)) {
    const other = [...word].filter((one) => MIXED_WORD.test(`a${one}`)).map((one) => `${one} (${codeOf(one)})`);
    yield {
      index,
      message: `"${word.slice(0, 60)}" mixes Latin letters with ${[...new Set(other)].slice(0, 5).join(", ")}, which look like them. Write it in one alphabet.`,
    };
  }
  for (const { 0: sign, index } of text.matchAll(ODD_BLANKS)) {
    const far = `Text follows after ${sign.length} spaces or tabs, where a reader does not see it. Write it on a line of its own.`;
    yield { index, message: sign.length > 1 ? far : `The character ${codeOf(sign)} looks like a space. Write one, or "${escaped(sign)}".` };
  }
}

/** JSON text for a file that people review: all non-ASCII characters are escaped if any part of it would be refused. */
export const spelledOut = (json: string): string => (hiddenIn(json).next().done === true ? json : json.replace(/[^\0-\x7f]/gu, escaped));

const codeOf = (sign: string): string => `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

// The scripts in use (UAX 31, table 5). Han, kana and Hangul may be mixed, also with Latin: UTS 39, "highly restrictive".
const ALONE =
  `Latin Cyrillic Greek Armenian Georgian Hebrew Arabic Thaana Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam
  Sinhala Thai Lao Tibetan Myanmar Ethiopic Khmer`.split(/\s+/);
const TOGETHER = ["Latin Han Hiragana Katakana", "Latin Han Hangul", "Latin Han Bopomofo"];
let profiles: RegExp[] | null = null;

/** Why a name in code may be mistaken for another; null when it cannot. */
export function misleadingName(name: string): string | null {
  if (ASCII.test(name)) return null;
  if (/[ǀ-ǃꞏ]|(?![々ゝゞーヽヾ])\p{Lm}|\w[ー一丨丶丿ノ]\w/u.test(name)) return "has a letter that looks like an operator";
  if (name !== name.normalize("NFKC")) return "has letters in a form that is drawn like another";
  profiles ??= [...ALONE, ...TOGETHER].map((scripts) => {
    const letters = scripts.split(" ").map((one) => `\\p{Script=${one}}`);
    return new RegExp(`^[${letters.join("")}\\p{Script=Common}\\p{Script=Inherited}]*$`, "u");
  });
  if (!profiles.some((profile) => profile.test(name))) return "mixes letters of several scripts";
  return ALL_LOOKALIKES.test(name) ? "is made of letters that look like Latin ones" : null;
}

const COLOURS = /(\p{Cc}\[(?:[0-2]|3[1-3])m)/u;
const ESCAPE = 0x1b;

/** Text for a terminal: untrusted parts cannot move the cursor or hide; our own colours stay when `colour` is set. */
export function printable(text: string, colour = false): string {
  if (!colour) return visible(text);
  // Only our own colour codes stay: a title could hide the text after it.
  const parts = text.split(COLOURS);
  return parts.map((part, i) => (i % 2 === 1 && part.charCodeAt(0) === ESCAPE ? part : visible(part))).join("");
}

/** Quoted so that a shell reads it as one word. */
export const quoted = (path: string): string => (/^[\w./:=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** The author of an act without a person's key. */
export const NOBODY = "an unidentified user";

/** Cuts a stream into lines at LF alone, as JSON may contain U+2028; calls back once with null if a line is longer than `max` bytes. */
export function cutLines(max: number, each: (line: Buffer | null) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  return (chunk) => {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(10, from);
      const part = chunk.subarray(from, end === -1 ? undefined : end);
      if (length <= max && length + part.length > max) each(null);
      length += part.length;
      if (length <= max) parts.push(part);
      if (end === -1) return;
      if (length > 0 && length <= max) each(Buffer.concat(parts));
      parts = [];
      length = 0;
      from = end + 1;
    }
  };
}
