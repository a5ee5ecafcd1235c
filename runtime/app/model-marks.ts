/**
 * What people made of a class that a model gave: an entry whose text was classified, and the answer to its card. Left as it was, the class
 * is confirmed; moved to another account or rejected, it is not. The only source of a model's `confidence`.
 */
import type { Database } from "../engine/database.ts";
import { addMark, hasAskedModel } from "../engine/store/model-calls.ts";
import type { Card, Decision, Engine, Json, Step } from "../kernel/ports.ts";

/** The steps of the run that opened the card of an entry, where it asked a model. */
export async function classifiedIn({ database, engine }: { database: Database; engine: Pick<Engine, "steps"> }, { run, kind }: Card) {
  if (run === null || kind !== "entry" || !hasAskedModel(database, run)) return null;
  return engine.steps(run);
}

/** Counts a decision about an entry's card, once. @param steps of the run that wrote the entry */
export function markDecision(database: Database, card: Card, decision: Decision, steps: readonly Step[]): void {
  const entry = (card.body as { entry?: Json } | null)?.entry;
  if (typeof entry !== "string") return;
  const wrote = steps.findLast((step) => step.effect === "write" && step.result?.includes(JSON.stringify(entry)));
  const asked = steps.findLast((step) => step.seq < (wrote?.seq ?? 0) && siteOf(step) !== undefined && isAbout(step, wrote));
  const [site, name] = [asked === undefined ? undefined : siteOf(asked), classOf(asked)];
  if (site === undefined || name === null) return;
  addMark(database, site, name, card.id, decision.decision === "approved" && decision.account === undefined);
}

const siteOf = (step: Step): string | undefined => step.changes.flatMap((one) => (one.op === "asked" && one.site ? [one.site] : []))[0];

function classOf(step: Step | undefined): string | null {
  const { class: name } = JSON.parse(step?.result ?? "{}") as { class?: Json };
  return typeof name === "string" ? name : null;
}

/** The text that was classified names what the entry says it is: another row's class says nothing about this one. */
function isAbout(step: Step, wrote: Step | undefined): boolean {
  const { text = "" } = JSON.parse(step.params) as { text?: string };
  const { description = "", counterparty = "" } = JSON.parse(wrote?.params ?? "{}") as { description?: string; counterparty?: string };
  return [description, counterparty].some((one) => one !== "" && text.includes(one));
}
