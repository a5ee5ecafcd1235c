/** Small values of the runtime itself, by name: the last tick of a schedule, paired browsers, seals of runs, answers being carried out. */
import type { Database } from "./database.ts";

export interface Fact {
  name: string;
  value: string;
}

export function getFact(database: Database, name: string): string | null {
  return database.get<{ value: string }>("SELECT value FROM facts WHERE name = ?", name)?.value ?? null;
}

export function setFact(database: Database, name: string, value: string): void {
  database.write(() => database.run("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value));
}

/** Writes the value unless the name has one; returns the stored value. */
export function keepFact(database: Database, name: string, value: string): string {
  return database.write(() => {
    database.run("INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, value);
    return getFact(database, name) ?? value;
  });
}

export function dropFact(database: Database, name: string): void {
  database.write(() => database.run("DELETE FROM facts WHERE name = ?", name));
}

/** All whose name begins with `beginning`, by name. */
export function factsNamed(database: Database, beginning: string): Fact[] {
  return database.all<Fact>("SELECT name, value FROM facts WHERE name GLOB ? ORDER BY name", `${beginning}*`);
}

/** Drops those of them that are over; returns how many. */
export function dropFacts(database: Database, beginning: string, isOver: (value: string) => boolean): number {
  return database.write(() => {
    const over = factsNamed(database, beginning).filter(({ value }) => isOver(value));
    for (const { name } of over) dropFact(database, name);
    return over.length;
  });
}
