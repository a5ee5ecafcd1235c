/** A backtest in words for a card: how many runs come out the same, what moves where, and where the first one parts. */
import type { BacktestReport, Divergence } from "../evidence/types.ts";
import type { Json } from "../ports.ts";

const KINDS = ["same", "changed", "worse", "failed", "not_replayable"] as const;
const MOVES = 5;
const WORST = 3;

/** Lines about one agent's backtest; those below the first begin with two blanks. */
export function backtestLines({ agent, runs, days, counts, moves, net, differences, waiting }: BacktestReport): string[] {
  if (runs === 0) return [`backtest of ${agent}: there is no recorded run`];
  const told = KINDS.filter((kind) => kind !== "failed" || counts.failed > 0).map((kind) => `${counts[kind]} ${kind.replace("_", " ")}`);
  const sums = Object.entries(net).map(([currency, sum]) => `net ${sum} ${currency}`);
  const first = differences.find(({ divergence }) => divergence !== null);
  const bad = differences.filter((one) => one.class !== "same" && one.class !== "changed");
  const movable = waiting.filter((one) => one.moves).length;
  return [
    `backtest of ${agent} on ${runs} real ${runs === 1 ? "run" : "runs"}${days === null ? "" : ` (${days} days)`}: ${told.join(", ")}`,
    ...moves
      .slice(0, MOVES)
      .map(
        ({ from, to, entries, amount, currency }) =>
          `  ${entries} ${entries === 1 ? "entry" : "entries"}  ${from} -> ${to}  ${amount} ${currency}`,
      ),
    ...(moves.length > MOVES ? [`  and ${moves.length - MOVES} more moves`] : []),
    ...(sums.length === 0 ? [] : [`  ${sums.join(", ")}`]),
    ...(first?.divergence == null ? [] : [`  first difference: ${first.run} ${divergenceWords(first.divergence)}`]),
    ...bad.slice(0, WORST).map((one) => `  ${one.class.replace("_", " ")}: ${one.run}, ${one.why[0] ?? ""}`),
    ...(bad.length > WORST ? [`  and ${bad.length - WORST} more that are worse, failed or not replayable`] : []),
    ...(waiting.length === 0
      ? []
      : [`  ${movable} of ${waiting.length} waiting runs could go on with it; all stay on their code until they are moved`]),
  ];
}

/** `step 12, journal_add_double.debit_account 5030 -> 5020` */
export function divergenceWords({ step, recorded, now }: Divergence): string {
  if (recorded === null) return `step ${step}, it goes on with ${now?.tool ?? "nothing"}`;
  if (now === null) return `step ${step}, it ends before ${recorded.tool}`;
  if (recorded.tool !== now.tool) return `step ${step}, ${recorded.tool} -> ${now.tool}`;
  const [path, was, is] = firstDifference(recorded.params, now.params, "") ?? ["", null, null];
  return `step ${step}, ${now.tool}${path} ${shown(was)} -> ${shown(is)}`;
}

const shown = (value: Json | undefined): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing")).slice(0, 80);

function firstDifference(was: Json | undefined, now: Json | undefined, path: string): [string, Json | undefined, Json | undefined] | null {
  if (typeof was !== "object" || typeof now !== "object" || was === null || now === null) return was === now ? null : [path, was, now];
  const [a, b] = [was, now] as Record<string, Json>[];
  for (const key of new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})])) {
    const found = firstDifference(a?.[key], b?.[key], `${path}.${key}`);
    if (found !== null) return found;
  }
  return null;
}
