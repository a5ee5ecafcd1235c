/** Queries on cards that the Cards port does not have: alerts, reminders, decided proposals. */
import type { Database } from "./database.ts";
import type { CardDraft } from "../../kernel/ports.ts";
import { titleOf } from "../../rules/edits.ts";

/** Prefix of the keys of alerts: every command shows them until a person has answered. */
export const ALERT = "alert:";

// Open, its script asked for reminders, and one is due at the time `?` (ms).
const REMINDING = "decision IS NULL AND kind IN ('approval', 'form') AND at + (document ->> 'remind') <= ?";

export interface Open {
  id: number;
  at: number;
  title: string;
}

const titled = (rows: { id: number; at: number; document: string }[]): Open[] =>
  rows.map(({ document, ...row }) => ({ ...row, title: titleOf({ ...(JSON.parse(document) as CardDraft), decision: null }) }));

export function dueReminders(database: Database, now: number): number[] {
  return database.all<{ id: number }>(`SELECT id FROM cards WHERE ${REMINDING}`, now).map(({ id }) => id);
}

/** Due cards without a reminder by mail, no more than 20. */
export function unremindedCards(database: Database, now: number): Open[] {
  const mails = "SELECT 1 FROM notices WHERE key GLOB 'card/' || cards.id || '/remind/*'";
  return titled(database.all(`SELECT id, at, document FROM cards WHERE ${REMINDING} AND NOT EXISTS (${mails}) ORDER BY id LIMIT 20`, now));
}

/** No more than 20. */
export function openAlertCards(database: Database): Open[] {
  return titled(database.all(`SELECT id, at, document FROM cards WHERE decision IS NULL AND key LIKE '${ALERT}%' ORDER BY id LIMIT 20`));
}

export function alertCard(database: Database, key: string): number | undefined {
  return database.get<{ id: number }>("SELECT id FROM cards WHERE key = ?", ALERT + key)?.id;
}

export function hasDecidedProposal(database: Database): boolean {
  return database.get("SELECT 1 FROM cards WHERE kind = 'proposal' AND decision IS NOT NULL LIMIT 1") !== undefined;
}
