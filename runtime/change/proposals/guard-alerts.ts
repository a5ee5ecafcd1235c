/** What the guard tells people: one alert for each thing that happened, said again in other words when it changes, never twice. */
import type { Database } from "../../engine/database.ts";
import { ALERT, openAlert } from "../../outside/notices/outbox.ts";
import type { Cards, Clock, Json } from "../../kernel/ports.ts";

export interface Alert {
  key: string;
  title: string;
  about: Json;
}

interface Told {
  database: Database;
  cards: Cards;
  clock: Clock;
}

const idOf = ({ database }: Pick<Told, "database">, key: string): number | undefined =>
  database.get<{ id: number }>("SELECT id FROM cards WHERE key = ?", ALERT + key)?.id;

export function hasAlert(world: Pick<Told, "database">, key: string): boolean {
  return idOf(world, key) !== undefined;
}

/** Answers the sentence when it is news, else "". One that a person has read stays read. */
export function tell(world: Told, { key, title, about }: Alert): string {
  const id = idOf(world, key);
  if (id === undefined) {
    world.database.write(() => openAlert(world.database, key, title, about, world.clock.now()));
    return title;
  }
  if (world.cards.get(id)?.title === title) return "";
  world.cards.restate(id, { title, body: { about } });
  return title;
}
