/**
 * Proposals requested by agents: how many are accepted, and how a request that a run has released becomes a proposal in git. The request is a
 * card that holds the draft (durable with the run's commit, one per step) until the owner of the workspace settles it.
 */
import { unsettledProposals } from "../../engine/store/cards.ts";
import { onCode } from "../../kernel/errors.ts";
import type { Card } from "../../kernel/ports.ts";
import { dayIn } from "../../scripts/header.ts";
import type { Config } from "../../workspace/settings/config.ts";
import { findingsIn } from "../checks/findings.ts";
import { type ProposalWorld, createProposals } from "./store.ts";
import type { Proposal, ProposalDraft } from "../proposal-types.ts";

/** config.yaml `changes:` and the time zone in which its days are counted. */
export type IntakeRules = Pick<Config["changes"], "per_agent_a_night" | "per_day" | "cooldown_hours"> & Pick<Config, "timezone">;

const HOUR = 3_600_000;
// A night lasts from 18:00 to 18:00 of the next day, so that everything learned overnight counts as one.
const NIGHT_BEGINS = 18 * HOUR;

interface Waiting {
  base: string;
  draft: ProposalDraft;
}

type Shown = { body: Waiting | { proposal: string } };

/** Drafts that runs have released and that are not settled yet, oldest first. */
function waitingDrafts({ cards, database }: ProposalWorld): (Waiting & { card: Card })[] {
  return unsettledProposals(database).flatMap((id) => {
    const card = cards.get(id);
    const body = (card as Shown | null)?.body;
    return card === null || body === undefined || !("draft" in body) ? [] : [{ card, ...body }];
  });
}

/**
 * Whether an agent's request is accepted, and under which id. `own`: requests of the same run that are not released yet; `card`: the card of
 * a released draft, judged by the time of its release. Stores nothing.
 */
export async function admit(
  world: ProposalWorld,
  { draft, base }: Waiting,
  rules: IntakeRules,
  { own = 0, card }: { own?: number; card?: Card } = {},
): Promise<{ accepted: boolean; proposal: string | null; reason: string }> {
  const no = (reason: string) => ({ accepted: false, proposal: null, reason });
  const store = createProposals(world);
  const whyNot = (error: unknown) => findingsIn(error, "").map(({ message }) => message);
  const place = await store.placeOf(draft, base).catch(onCode(["PROPOSAL_PATH", "PROPOSAL_EMPTY"], whyNot));
  if (Array.isArray(place)) return no(place.join(" "));
  const { id, open } = place;
  if (open !== null) return { accepted: true, proposal: id, reason: `It is already proposed, as number ${open.number}.` };
  const now = card?.at ?? world.clock.now();
  const earlier = waitingDrafts(world).filter((one) => card === undefined || one.card.id < card.id);
  const asked = [
    ...(await store.list()).map(({ by, at }) => ({ by, at })),
    ...earlier.map((one) => ({ by: one.draft.by, at: one.card.at })),
    ...Array.from({ length: own }, () => ({ by: draft.by, at: now })),
  ];
  const reason = tooMany(draft, asked, now, rules) ?? cooling(draft, await store.list(), now, rules);
  return reason === null ? { accepted: true, proposal: id, reason: "" } : no(reason);
}

/** asked: requests that are open, or were. */
function tooMany({ by }: ProposalDraft, asked: readonly Pick<Proposal, "by" | "at">[], now: number, rules: IntakeRules): string | null {
  const { per_agent_a_night, per_day, timezone } = rules;
  const night = (ms: number) => dayIn(timezone, ms - NIGHT_BEGINS);
  const agents = asked.filter((one) => one.by.startsWith("agent:"));
  const tonight = agents.filter((one) => one.by === by && night(one.at) === night(now)).length;
  if (tonight >= per_agent_a_night)
    return `${by} has proposed ${tonight} changes since 18:00; config.yaml changes.per_agent_a_night allows ${per_agent_a_night}.`;
  const today = agents.filter((one) => dayIn(timezone, one.at) === dayIn(timezone, now)).length;
  return today >= per_day ? `Agents have proposed ${today} changes today; config.yaml changes.per_day allows ${per_day}.` : null;
}

/** A file for which this agent's proposal was rejected or reverted is not accepted for a while. */
function cooling({ by, files }: ProposalDraft, all: readonly Proposal[], now: number, { cooldown_hours }: IntakeRules): string | null {
  for (const one of all) {
    const path = one.files.find((file) => Object.hasOwn(files, file.path))?.path;
    const ended = one.state === "rejected" || one.state === "reverted";
    if (path === undefined || !ended || one.by !== by || now - one.since >= cooldown_hours * HOUR) continue;
    const why = one.why === null ? "" : ` (${one.why})`;
    return `Proposal ${one.number} on ${path} was ${one.state} less than ${cooldown_hours} hours ago${why}.`;
  }
  return null;
}

/**
 * Turns released drafts into proposals and has them checked, oldest first; a draft that is no longer accepted closes its card with the
 * reason. Safe to repeat after a kill at any point. Returns the new proposals.
 */
export async function settleDrafts(
  world: ProposalWorld,
  rules: () => Promise<IntakeRules>,
  prepare: (id: string) => Promise<unknown>,
): Promise<Proposal[]> {
  const made: Proposal[] = [];
  // A card may lag behind what a killed process had recorded.
  await createProposals(world).list();
  for (const { card, ...waiting } of waitingDrafts(world)) {
    const close = (reason: string) => {
      // Another process may have settled it meanwhile.
      if (world.cards.get(card.id)?.decision === null)
        world.cards.decide(card.id, { card: card.id, decision: "expired", by: "runtime", at: world.clock.now(), reason });
    };
    const { accepted, reason } = await admit(world, waiting, await rules(), { card });
    if (!accepted) {
      close(reason);
      continue;
    }
    const { proposal, known } = await createProposals(world).create(waiting.draft, waiting.base, card.id);
    if (known && proposal.number !== card.id) close(`It is already proposed, as number ${proposal.number}.`);
    if (!known) made.push(proposal);
  }
  // Includes proposals of any author whose check was interrupted by a kill.
  for (const card of unsettledProposals(world.database)) {
    const { proposal } = (world.cards.get(card)?.body ?? {}) as { proposal?: string };
    // It may have been checked meanwhile, and its card may lag behind that.
    if (proposal === undefined || !unsettledProposals(world.database).includes(card)) continue;
    const { state } = await createProposals(world).get(proposal);
    if (state === "draft" || state === "checking") await prepare(proposal);
  }
  return made;
}
