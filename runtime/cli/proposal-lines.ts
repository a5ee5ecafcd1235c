/** A proposal as printed by the command line: one line in a list, the card when shown, its details on request. */
import type { ShownProposal } from "../app/proposals-api.ts";
import { cardOf } from "../change/proposals/card.ts";
import type { CardPart } from "../change/proposals/card-details.ts";
import { ASKING } from "../change/proposals/store.ts";
import { type Proposal, stateWord } from "../change/proposal-types.ts";
import type { Output } from "./output.ts";

/** Cells of a row: number, state, title, proposer, age. */
export function proposalRow(output: Output, proposal: Proposal, now: number): string[] {
  return [output.bold(String(proposal.number)), painted(output, proposal), proposal.title, proposal.by, age(now - proposal.at)];
}

/** The card, and how to see the rest. */
export function proposalLines(output: Output, { proposal, name, rejected, timezone }: ShownProposal, withDetails = false): string[] {
  const { headline, parts, details } = cardOf(proposal, { rejected, timezone });
  const { number, state } = proposal;
  const yes = `cleared approve ${name}${state === "unproven" ? " --despite REASON" : ""}`;
  const decide = ASKING.includes(state) ? `decide: ${yes}, or cleared reject ${name} --reason ...; ` : "";
  const more = withDetails ? "" : `everything else: cleared proposals show ${number} --details; `;
  return [
    `${output.bold(String(number))}  ${painted(output, proposal)}  ${headline}`,
    ...parts.flatMap((part) => partLines(part).map((line) => `  ${toned(output, part.name, line)}`)),
    ...(withDetails
      ? details.flatMap(({ name, lines }) => [`  ${output.bold(name)}`, ...lines.map((line) => `    ${toned(output, name, line)}`)])
      : []),
    output.dim(`  ${decide}${more}its text: cleared proposals diff ${number}`),
  ];
}

function partLines({ name, lines }: CardPart): string[] {
  return lines.length === 1 ? [`${name}: ${lines[0]}`] : [`${name}:`, ...lines.map((line) => `  ${line}`)];
}

function toned(output: Output, part: string, line: string): string {
  if (part === "May do more" || part === "Not proven" || line.startsWith("! ")) return output.yellow(line);
  return line.startsWith("failed: ") ? output.red(line) : line;
}

function painted(output: Output, { state, why }: Pick<Proposal, "state" | "why">): string {
  if (ASKING.includes(state)) return output.yellow(state);
  if (state === "blocked" || state === "rejected") return output.red(state);
  return state === "applied" ? output.green(state) : stateWord({ state, why });
}

/** In the largest nonzero unit. */
function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / (24 * 60))} days`;
}
