/**
 * The tags of an OFX file, one after another, with the text that follows each. Linear in the size of the file, whatever it holds:
 * a tag or CDATA section that never ends is looked for once.
 */

export interface OfxTag {
  /** In capitals. */
  name: string;
  closing: boolean;
  /** Text up to the next tag, entities resolved; "" for closing tags. */
  value: string;
  line: number;
}

const NAME = /([A-Za-z][A-Za-z0-9._]{0,63})(?:\s[^<>]{0,500})?\/?>/y;

export function* ofxTags(text: string): Generator<OfxTag> {
  let current: OfxTag | null = null;
  let value = "";
  let line = 1;
  // Looked for once per line: searching again at each tag would be quadratic in a file of one line.
  let lineEnd = text.indexOf("\n");
  let at = 0;
  const ends = new Map<string, number>();
  /** Index of a terminator from here on, or -1; remembers that there is none. */
  const find = (end: string, from: number) => {
    if (ends.get(end) === -1) return -1;
    const found = text.indexOf(end, from);
    if (found < 0) ends.set(end, -1);
    return found;
  };
  const add = (part: string) => {
    // Longer values are no bank's; the bound keeps a file without tags from being copied again and again.
    if (current !== null && value.length < 4096) value += part;
  };
  while (at < text.length) {
    const open = text.indexOf("<", at);
    const stop = open < 0 ? text.length : open;
    if (stop > at) add(resolveEntities(text.slice(at, Math.min(stop, at + 4096))));
    if (open < 0) break;
    for (; lineEnd >= 0 && lineEnd < open; lineEnd = text.indexOf("\n", lineEnd + 1)) line++;
    const special = specialAt(text, open);
    const end = special === null ? -1 : find(special.end, open + special.start.length);
    if (special !== null && end >= 0) {
      if (special.start === "<![CDATA[") add(text.slice(open + special.start.length, Math.min(end, open + 4096)));
      at = end + special.end.length;
      continue;
    }
    const closing = text.charAt(open + 1) === "/";
    NAME.lastIndex = open + (closing ? 2 : 1);
    const match = NAME.exec(text);
    if (match === null) {
      // A bare "<" in a text, as in `A < B`.
      add("<");
      at = open + 1;
      continue;
    }
    if (current !== null) yield { ...current, value: value.trim() };
    const name = (match[1] ?? "").toUpperCase();
    if (closing) yield { name, closing: true, value: "", line };
    current = closing ? null : { name, closing: false, value: "", line };
    value = "";
    at = NAME.lastIndex;
  }
  if (current !== null) yield { ...current, value: value.trim() };
}

const SPECIALS = [
  { start: "<![CDATA[", end: "]]>" },
  { start: "<!--", end: "-->" },
  { start: "<?", end: "?>" },
];

const specialAt = (text: string, at: number) => SPECIALS.find(({ start }) => text.startsWith(start, at)) ?? null;

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Entities resolved; twice, because banks escape what is escaped already (`&amp;lt;`). An ampersand that is no entity stays. */
const resolveEntities = (text: string): string => (text.includes("&") ? resolveOnce(resolveOnce(text)) : text);

function resolveOnce(text: string): string {
  return text.replace(
    /&(?:([a-zA-Z]{2,4})|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));/g,
    (whole, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? whole : String.fromCodePoint(code);
    },
  );
}
