/** Code that stands in a line of a card, between ‹ and ›, said in words as far as it has any; what has none stays as the text has it. */

const TEXT = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const HELD = /\uE000(\d+)\uE000/g;

const WORDS: [RegExp, string][] = [
  [/\?\./g, "."],
  [/\bconfig_get\(([^()]*)\)/g, "the setting $1"],
  [/([\w.[\]]+)\.includes\(([^()]*)\)/g, "$1 contains $2"],
  [/([\w.[\]]+)\.startsWith\(([^()]*)\)/g, "$1 begins with $2"],
  [/([\w.[\]]+)\.endsWith\(([^()]*)\)/g, "$1 ends with $2"],
  [/([\w.[\]]+)\.length\b/g, "the length of $1"],
  [/!(?=[\w(])/g, "not "],
  [/ !==? /g, " is not "],
  [/ ===? /g, " is "],
  [/ >= /g, " is at least "],
  [/ <= /g, " is at most "],
  [/ > /g, " is more than "],
  [/ < /g, " is less than "],
  [/ && /g, " and "],
  [/ \|\| /g, " or "],
  [/ \?\? /g, ", or without one "],
  [/(?<![\w.\]])([a-z_]\w*)\.([a-z_]\w*)\b(?![.([])/gi, "$2 of $1"],
];
const CHOICE = /^([^?:]+) \? ([^?:]+) : (.+)$/;

function said(code: string): string {
  const [, when, one, other] = CHOICE.exec(code.replaceAll("?.", ".")) ?? [];
  if (when !== undefined && one !== undefined && other !== undefined) return `${said(one)} if ${said(when)}, else ${said(other)}`;
  return WORDS.reduce((text, [what, words]) => text.replace(what, words), code);
}

/** The line with its code in words. */
export const inWords = (line: string): string =>
  line.replace(/‹([^›]*)›?/g, (_, code: string) => {
    // Functions and objects have no words.
    if (/=>|\{|\bfunction\b/.test(code.replace(TEXT, ""))) return code;
    const texts: string[] = [];
    const bare = code.replace(TEXT, (text) => `\uE000${texts.push(text) - 1}\uE000`);
    return said(bare).replace(HELD, (_whole, n: string) => texts[Number(n)] ?? "");
  });

/** The line with its code as it is. */
export const asCode = (line: string): string => line.replace(/[‹›]/g, "`");
