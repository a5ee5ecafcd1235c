/** What is wrong with calls before anybody is asked about them: amounts without a source, sums that do not add up, texts with a hole, figures not judged. */
import { ClearedError } from "../kernel/errors.ts";
import type { Call, Json, Step } from "../kernel/ports.ts";
import { scalarsOf } from "../rules/edits.ts";
import { brokenCallSums, brokenSums } from "../rules/answers/required.ts";
import { type Judged, unjudged, type Used } from "../rules/tools/judged.ts";
import { amountsIn, numbersOf, untraced } from "../rules/tools/trace.ts";

/** Figures an amount may come from: computed, or read in ASSESS. Steps stay `unread` until an amount is first traced. */
export interface Figures {
  known: Map<string, number>;
  unread: Step[];
}

/** All figures that amounts may come from. */
function knownIn({ known, unread }: Figures): ReadonlyMap<string, number> {
  for (const step of unread.splice(0)) numbersOf(JSON.parse(step.result ?? "null") as Json, known);
  return known;
}

/** The first call with an amount of unknown source, as an error: it must be neither approved nor written. */
export function findUntracedAmount(calls: readonly Call[], state: { figures: Figures }): ClearedError | null {
  for (const call of calls) {
    if (amountsIn(call.params).length === 0) continue;
    const paths = untraced(call.params, knownIn(state.figures)).map((amount) => `${amount.path} ${amount.value}`);
    if (paths.length === 0) continue;
    return new ClearedError(
      "AMOUNT_UNTRACED",
      `${call.tool}: ${paths.slice(0, 5).join(", ")} ${paths.length === 1 ? "is" : "are"} neither the result of a compute_* call nor read in ASSESS. Compute or read the amount first.`,
      { data: { tool: call.tool, paths: [...paths] } },
    );
  }
  return null;
}

/** The first call whose amounts do not add up, as an error: it must not be approved either. `shown`: the body of its card. */
export function findBrokenSum(calls: readonly Call[], shown: Json = null): ClearedError | null {
  const broken = calls.flatMap(({ tool, params }) => brokenCallSums(params).map((one) => `${tool}: ${one}`));
  const wrong = [...broken, ...brokenSums(shown).map((one) => `The card: ${one}`)];
  if (wrong.length === 0) return null;
  return new ClearedError("AMOUNT_SUM", `${wrong.slice(0, 5).join("; ")}. Nothing was asked or sent; correct the calculation.`, {
    data: { wrong },
  });
}

// The word a template prints for a missing value, with the words next to it.
const HOLE = /(\S+ )?(?<![\w.])(null|undefined|NaN|\[object Object\])(?![\w.]*\w)( \S+)?/g;

/** The first text in these calls that was built from a missing value, as an error; a copy of the input or of a read may contain "null". */
export function findHole(calls: readonly Call[], { texts }: { texts: readonly string[] }): ClearedError | null {
  const isKnown = (part: string): boolean => texts.some((one) => one.includes(JSON.stringify(part).slice(1, -1)));
  const isHole = (text: Json): boolean =>
    typeof text === "string" &&
    [...text.matchAll(HOLE)].some(
      ([, before = "", word = "", after = ""]) =>
        !isKnown(text) && ![before + word, word + after].some((part) => part !== word && isKnown(part)),
    );
  const said = [...scalarsOf(calls).values()].find(isHole);
  if (said === undefined) return null;
  const what = `${JSON.stringify(String(said).slice(0, 200))} lacks something it is built from`;
  return new ClearedError("TEXT_INCOMPLETE", `${what}. Nothing was asked or sent; fill in the record that lacks it.`);
}

/** Names the amounts of these calls that no policy has judged in this run, beside those it has; null when all are judged. */
export function notJudged(
  calls: readonly Call[],
  { judged, made, doubted, figures }: { judged: Judged; made: readonly Call[]; doubted: string | null; figures: Figures },
): string | null {
  if (doubted !== null) return doubted;
  const used: Used = new Map();
  const open = (call: Call) => unjudged(call, used, judged, (sum) => knownIn(figures).has(sum));
  for (const call of made) open(call);
  const wrong = calls.flatMap((call) => open(call).map(({ path, value }) => `${call.tool} ${path} ${value}`));
  if (wrong.length === 0) return null;
  const known = [...new Set(judged.facts)].slice(0, 8).join(", ") || "no amount";
  return `The policy judged ${known}; it has not judged ${wrong.slice(0, 8).join(", ")}.`;
}
