/**
 * Bytes to text. UTF-8 is strict; anything else must be declared by a byte order mark, by the dialect or by the format itself.
 * A wrong guess would put mojibake into descriptions, and descriptions are part of a row's identity.
 */
import { ClearedError } from "../../kernel/errors.ts";
import { occurrences } from "./cells.ts";

export const ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** What the byte order mark says, or null. */
function markOf(bytes: Uint8Array): Encoding | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return null;
}

/**
 * The text without its byte order mark. The mark, where there is one, beats `declared`.
 * @throws STATEMENT_ENCODING with the line of the first bad byte
 */
export function decode(file: string, bytes: Uint8Array, declared: Encoding): string {
  const mark = markOf(bytes);
  const encoding = mark ?? declared;
  const text = tryDecode(bytes, encoding);
  if (text === null) {
    throw new ClearedError(
      "STATEMENT_ENCODING",
      `The file is not ${encoding}. Export it as UTF-8, or set encoding: windows-1252 in its dialect if that is what the bank writes.`,
      { at: { file, line: badLine(bytes, encoding) } },
    );
  }
  if (mark === null && encoding === "windows-1252" && isMultiByteUtf8(bytes)) {
    throw new ClearedError(
      "STATEMENT_ENCODING",
      "The dialect says windows-1252, but the file is UTF-8. Export it as before, or set encoding: utf-8 in its dialect.",
      { at: { file } },
    );
  }
  if (isBinary(text)) {
    throw new ClearedError("STATEMENT_ENCODING", "The file is binary, or UTF-16 without a byte order mark. Export it as UTF-8 text.", {
      at: { file, line: lineAt(text, text.indexOf("\0")) },
    });
  }
  return text;
}

/** Why a row with a NUL character is refused: a disk or a download has lost what stood there. */
export const DAMAGED = "The row contains a NUL character: the file is damaged here. Download it again.";

/** True of a text that is none; a single NUL in a statement costs its own row only. */
export const isBinary = (text: string): boolean => occurrences(text, "\0", text.length / 20) * 20 > text.length;

/** So many bytes are looked at before the dialect is known. */
export const PEEKED = 65_536;

/** The first 64 KiB as text, to look at before the dialect, and with it the encoding, is known; never fails. */
export function peek(bytes: Uint8Array): string {
  const top = bytes.subarray(0, PEEKED);
  const mark = markOf(top);
  return new TextDecoder(mark ?? (tryDecode(top, "utf-8", true) === null ? "windows-1252" : "utf-8")).decode(top, { stream: true });
}

/** True when the bytes are UTF-8 with at least one character outside ASCII: chance does not write that in windows-1252. */
export const isMultiByteUtf8 = (bytes: Uint8Array): boolean => bytes.some((byte) => byte > 127) && tryDecode(bytes, "utf-8") !== null;

/** With `cut` the bytes may end in the middle of a character. */
function tryDecode(bytes: Uint8Array, encoding: Encoding, cut = false): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: cut });
  } catch (error) {
    // TypeError is how a fatal decoder says "not this encoding"; anything else is not ours to swallow.
    if (error instanceof TypeError) return null;
    throw error;
  }
}

function badLine(bytes: Uint8Array, encoding: Encoding): number {
  const text = new TextDecoder(encoding).decode(bytes);
  const bad = text.indexOf("\ufffd");
  return lineAt(text, bad < 0 ? text.length : bad);
}

const lineAt = (text: string, offset: number): number => 1 + occurrences(text.slice(0, offset), "\n");
