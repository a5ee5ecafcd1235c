/**
 * An answer to a question is computed, never remembered: its figures come from a read-only script or from a recorded run, and the entries behind
 * them are looked up again. A figure without a source is refused.
 */
import { compareDecimals } from "../rules/policy/values.ts";
import { groundOf, hasNumber, hasWords, ungrounded } from "../rules/grounding.ts";
import { plainDecimal } from "../kernel/money.ts";
import type { Entry, Json, Tree } from "../kernel/ports.ts";
import { ZERO, type Exact, fromExact, plus, toExact } from "../workspace/books/amounts.ts";
import { isEntryId } from "../workspace/books/entry-id.ts";
import { findEntry } from "../workspace/books/months.ts";
import type { Figure } from "./requests.ts";
import type { Situation, Tried, Workshop } from "./workshop.ts";

/** A figure as submitted by the writer. */
export interface ClaimedFigure {
  label: string;
  value: string;
  source: string;
  entries: string[];
}

const ENTRY = /\b\d{6}-[0-9a-hjkmnp-tv-z]{10}\b/g;
// More entries than this are not read behind a figure.
const SHOWN = 20;
// Reads of the clock, the settings and a model, which contain no business data.
const NO_RECORD = /^(?:ctx|config|llm)_/;

/** The figures with their proof, or what is wrong with them, one sentence each. */
export async function figuresOf(
  text: string,
  claimed: readonly ClaimedFigure[],
  at: Situation,
  shop: Workshop,
): Promise<{ figures: Figure[]; wrong: string[] }> {
  const figures: Figure[] = [];
  const wrong: string[] = [];
  const grounds: string[] = [at.ask.text];
  for (const one of claimed) {
    const source = await sourceOf(one, at, shop);
    if (typeof source === "string") {
      wrong.push(source);
      continue;
    }
    grounds.push(source.text, one.value);
    const made = await figureOf(one, source, shop.base);
    if (typeof made === "string") wrong.push(made);
    else figures.push(made);
  }
  const said = [text, ...claimed.map(({ label }) => label)].join("\n");
  const loose = ungrounded(said, groundOf(grounds.join("\n")));
  if (loose.length > 0)
    wrong.push(
      `The text says ${loose.slice(0, 5).join(", ")}, which is in no result: hand each figure in with its source, or leave it out.`,
    );
  return { figures, wrong };
}

/** What a figure may be taken from: the text of a result, and the entries it is based on; null if any entry of the books may be. */
interface Source {
  text: string;
  read: ReadonlySet<string>;
}

async function sourceOf({ label, value, source }: ClaimedFigure, { tried }: Situation, { bench }: Workshop): Promise<Source | string> {
  const name = `The figure "${label}"`;
  const found = tried.get(source);
  if (found !== undefined) {
    const why = unfit(found, value);
    if (why !== null) return `${name} is taken from ${source}, which ${why}.`;
    const { trial } = found;
    return { text: JSON.stringify(trial.effects.result), read: idsIn(trial.steps.map(({ result }) => result ?? "")) };
  }
  const run = /^run_[0-9A-Za-z]{1,40}$/.test(source) ? await bench.engine.get(source) : null;
  if (run === null) return `${name} has the source "${source}", which is neither an execution of yours (try_1, ...) nor a recorded run.`;
  return { text: JSON.stringify(run.result), read: idsIn((await bench.engine.steps(run.id)).map(({ result }) => result ?? "")) };
}

/** Why an execution computes nothing that may be reported, or null. */
function unfit({ trial, given }: Tried, value: string): string | null {
  const { effects, steps, missing } = trial;
  if (missing !== null) return `did not end: ${missing}`;
  if (effects.error !== null) return `failed with ${effects.error.code}`;
  const acts = steps.find(({ effect }) => effect === "write" || effect === "external" || effect === "notify");
  if (acts !== undefined) return `is not read-only: it calls ${acts.name}`;
  if (!steps.some(({ name, effect, state }) => effect === "read" && state === "ok" && !NO_RECORD.test(name)))
    return "reads nothing that is recorded, so it computes nothing from it";
  // A figure that is in the script, the draft or the input was not computed.
  if (value.replace(/\D/g, "").length > 1 && hasNumber(groundOf(given), value))
    return "was given this very figure in its text or its input, so it does not compute it";
  return null;
}

const idsIn = (texts: readonly string[]): Set<string> => new Set(texts.flatMap((text) => text.match(ENTRY) ?? []).filter(isEntryId));

async function figureOf({ label, value, source, entries }: ClaimedFigure, from: Source, base: Tree): Promise<Figure | string> {
  const ground = groundOf(from.text);
  if (!hasNumber(ground, value) && !hasWords(ground, value))
    return `The figure "${label}" is ${value}, and the result of ${source} does not have it.`;
  const unread = entries.find((id) => !from.read.has(id));
  if (unread !== undefined) return `The figure "${label}" names the entry ${unread.slice(0, 40)}, which ${source} has not read.`;
  const found: Entry[] = [];
  for (const id of new Set(entries)) {
    const entry = await findEntry(base, id);
    if (entry === null) return `The figure "${label}" names the entry ${id}, which is not in the books.`;
    found.push(entry);
  }
  return {
    ...{ label, value, source, proof: proofOf(value, found) },
    entries: found.slice(0, SHOWN).map(({ id, date, description, postings }) => {
      return {
        id,
        date,
        description: description.slice(0, 200),
        amount: postings.map(({ amount, currency }) => `${amount} ${currency}`)[0] ?? "",
      };
    }),
  };
}

/** How entries prove the figure: as their sum on an account or a parent account, or by their number. */
function proofOf(value: string, entries: readonly Entry[]): string | null {
  const wanted = plainDecimal(value.replace(/[,'\s]|[A-Z]{3}|\p{Sc}/gu, "").replace(/^[-+]/, ""));
  if (wanted === null || entries.length === 0) return null;
  const sums = new Map<string, Exact>();
  for (const { account, amount, currency } of entries.flatMap(({ postings }) => postings))
    for (const name of account.split(":").map((_, i, all) => all.slice(0, i + 1).join(":"))) {
      const key = `${name} in ${currency}`;
      sums.set(key, plus(sums.get(key) ?? ZERO, toExact(amount)));
    }
  const fitting = [...sums].filter(([, sum]) => compareDecimals(fromExact(sum, 2).replace("-", ""), wanted) === 0).map(([name]) => name);
  // Income or expense says more than where the money is, and an account more than its parent.
  const isBank = (name: string) => Number(/^(?:Assets|Liabilities)/.test(name));
  const [closest] = fitting.sort((a, b) => isBank(a) - isBank(b) || b.length - a.length);
  if (closest !== undefined) {
    const end = closest.lastIndexOf(" in ");
    const [name, currency] = [closest.slice(0, end), closest.slice(end)];
    // Of a parent's accounts each is named, because the entries of one may not be meant.
    const isPart = (one: string) => one.startsWith(`${name}:`) && one.endsWith(currency) && !one.slice(end + 1).includes(":");
    const below = [...sums].filter(([one]) => isPart(one));
    const parts =
      below.length < 2 ? "" : `: ${below.map(([one, sum]) => `${fromExact(sum, 2)} on ${one.slice(0, -currency.length)}`).join(", ")}`;
    return `the sum of ${entries.length === 1 ? "the entry" : `${entries.length} entries`} on ${closest}${parts}`;
  }
  return compareDecimals(wanted, String(entries.length)) === 0 ? "the number of the entries" : null;
}

/** An execution as shown to the writer. */
export function triedView(name: string, { trial }: Tried, lines: readonly string[]): { [key: string]: Json } {
  const { effects, missing, steps } = trial;
  const read = idsIn(steps.map(({ result }) => result ?? ""));
  return {
    source: name,
    status: missing === null ? effects.status : "stopped",
    ...(missing === null ? {} : { stopped_because: missing }),
    ...(effects.error === null ? {} : { error: { code: effects.error.code, message: effects.error.message } }),
    result: effects.result,
    would: [...lines],
    entries_read: read.size,
  };
}
