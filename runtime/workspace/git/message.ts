/**
 * Commit messages: what a script may put into one, and the trailers that tie a commit to its run.
 * Trailers are the last paragraph and only that, so text a script wrote can never pass as one.
 */

import { visible } from "../../kernel/text.ts";

const MESSAGE_LENGTH = 20_000;

/**
 * The whole message of a commit: subject and body, an empty line, the trailers. What nobody sees is made visible: `git log` would show
 * something else than what was committed.
 */
export function composeMessage(message: string, trailers: Record<string, string>): string {
  const body = visible(message.toWellFormed().replace(/\r\n?/g, "\n")).slice(0, MESSAGE_LENGTH).trim();
  const lines = Object.entries(trailers)
    .filter(([key]) => /^[A-Za-z][A-Za-z0-9-]*$/.test(key))
    .map(([key, value]) => `${key}: ${visible(value.toWellFormed().replace(/\s+/g, " ")).trim()}`);
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
