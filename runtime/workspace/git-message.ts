/**
 * Commit messages: what a script may put into one, and the trailers that tie a commit to its run.
 * Trailers are the last paragraph and only that, so text a script wrote can never pass as one.
 */

// Control and direction-changing characters would make `git log` show something else than what was committed.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
const MESSAGE_LENGTH = 20_000;

/** The whole message of a commit: subject and body, an empty line, the trailers. */
export function composeMessage(message: string, trailers: Record<string, string>): string {
  const body = message.toWellFormed().replace(/\r\n?/g, "\n").replace(HIDDEN, "").slice(0, MESSAGE_LENGTH).trim();
  const lines = Object.entries(trailers)
    .filter(([key]) => /^[A-Za-z][A-Za-z0-9-]*$/.test(key))
    .map(([key, value]) => `${key}: ${value.toWellFormed().replace(/\s+/g, " ").replace(HIDDEN, "").trim()}`);
  const said = body === "" ? "update: workspace" : body;
  return lines.length === 0 ? `${said}\n` : `${said}\n\n${lines.join("\n")}\n`;
}

/** Trailers of a message: its last paragraph, if that is not its first and every line of it reads `Key: value`. */
export function parseTrailers(message: string): Record<string, string> {
  const paragraphs = message.trimEnd().split(/\n{2,}/);
  const last = paragraphs.length > 1 ? (paragraphs.at(-1) ?? "") : "";
  const pairs = last.split("\n").map((line) => /^([A-Za-z][A-Za-z0-9-]*): (.*)$/.exec(line));
  if (last === "" || pairs.some((pair) => pair === null)) return {};
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""]));
}

/** True for a commit whose text a script or a proposer wrote: of a run, of a proposal. */
export function isOurs(trailers: Readonly<Record<string, string>>): boolean {
  return trailers["Run"] !== undefined || trailers["Proposal"] !== undefined;
}
