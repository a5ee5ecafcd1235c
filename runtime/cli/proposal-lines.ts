/** A proposal as the command line prints it: one line in a list, the card when it is shown. */
import type { ShownProposal } from "./proposals-api.ts";
import { cardOf } from "../proposals/card.ts";
import type { Proposal, ProposalState } from "../proposals/types.ts";
import type { Output } from "./output.ts";

/** number, state, title, proposer, age: cells of a row. */
export function proposalRow(output: Output, proposal: Proposal, now: number): string[] {
  return [output.bold(String(proposal.number)), painted(output, proposal.state), proposal.title, proposal.by, age(now - proposal.at)];
}

/** The card in full, what widens and what failed marked, and the way to its text. */
export function proposalLines(output: Output, { proposal, rejected, timezone }: ShownProposal): string[] {
  const { title, lines } = cardOf(proposal, { rejected, timezone });
  const { number, state } = proposal;
  const decide = state === "ready" ? `; decide: cleared approve ${number}, or cleared reject ${number} --reason ...` : "";
  return [
    `${output.bold(String(number))}  ${painted(output, state)}  ${title}`,
    ...lines.map((line) => `  ${marked(output, line)}`),
    output.dim(`  its text: cleared proposals diff ${number}${decide}`),
  ];
}

function marked(output: Output, line: string): string {
  if (line.startsWith("  ! ") || /^widens \d/.test(line)) return output.yellow(line);
  return line.startsWith("failed: ") ? output.red(line) : line;
}

function painted(output: Output, state: ProposalState): string {
  if (state === "ready") return output.yellow(state);
  if (state === "blocked" || state === "rejected") return output.red(state);
  return state === "applied" ? output.green(state) : state;
}

/** In the largest unit that is not zero. */
function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} days`;
}
