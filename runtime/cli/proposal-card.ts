/** The card of a proposal on the command line: the lines of proposals/card.ts, what widens and what failed marked, and the way to its text. */
import { type CardAround, cardOf } from "../proposals/card.ts";
import type { Proposal } from "../proposals/types.ts";
import type { Output } from "./output.ts";

/** The card as lines for `output.line`. */
export function cardLines(output: Output, proposal: Proposal, around: CardAround = {}): string[] {
  const { title, lines } = cardOf(proposal, around);
  const marked = (line: string): string => {
    if (line.startsWith("  ! ") || line.startsWith("widens ")) return line === "widens nothing" ? line : output.yellow(line);
    return /^(?:failed:| {2}(?:worse|failed|no longer holds):)/.test(line) ? output.red(line) : line;
  };
  const { number, state } = proposal;
  return [
    output.bold(`${number}  ${title}`),
    ...lines.map((line) => `  ${marked(line)}`),
    output.dim(
      `  its text: cleared proposals diff ${number}${state === "ready" ? `; decide: cleared approve ${number}, cleared reject ${number} --reason ...` : ""}`,
    ),
  ];
}
