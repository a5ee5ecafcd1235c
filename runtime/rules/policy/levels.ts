/**
 * Who may decide: a ladder of ranks by seniority, and functional roles beside it. Only the role itself meets a demand for it: a CFO
 * is not a lawyer (spec/worker.md 7.4 R). config.yaml `policy:` names both per workspace.
 */
import { z } from "zod";

export interface Ladder {
  /** From low to high; names on one rung are equal. */
  ranks: readonly (readonly string[])[];
  roles: readonly string[];
}

export const levelName = (word: string): string => word.trim().toLowerCase();

const name = z.string({ error: "write the name of a level" }).trim().toLowerCase().min(1, "write the name of a level").max(40);

/** `policy:` of config.yaml; the defaults are those of spec/worker.md 7.4 R. */
export const ladderSchema = z
  .strictObject({
    ladder: z
      .array(z.union([name.transform((one) => [one]), z.array(name).min(1)]), { error: "write a list of ranks, low to high" })
      .min(1, "name at least one rank")
      .default([["supervisor"], ["manager"], ["director"], ["vp"], ["cfo", "ciso"], ["ceo"], ["board"]]),
    roles: z.array(name, { error: "write a list of roles" }).default(["hr", "finance", "committee", "legal"]),
  })
  .refine(({ ladder, roles }) => new Set([...ladder.flat(), ...roles]).size === ladder.flat().length + roles.length, "a level occurs twice")
  .transform(({ ladder, roles }): Ladder => ({ ranks: ladder, roles }));

// Of seven ranks. Only decides which of several demands is named: a role is above or below nobody.
const BELOW_ROLES = 2;

export const levelNames = ({ ranks, roles }: Ladder): string[] => [...ranks.flat(), ...roles];

const rankOf = ({ ranks }: Ladder, level: string): number => ranks.findIndex((rung) => rung.includes(level));

/** Every level in the order of 7.4, where roles come between the two lowest ranks and the rest. */
const inOrder = ({ ranks, roles }: Ladder): string[] => ranks.toSpliced(BELOW_ROLES, 0, roles).flat();

/** True when a person with these levels may decide what `demanded` requires. A level outside the ladder is met only by the same name. */
export function meetsLevel(ladder: Ladder, held: readonly string[], demanded: string): boolean {
  const rank = rankOf(ladder, demanded);
  return held.map(levelName).some((level) => level === demanded || (rank >= 0 && rankOf(ladder, level) >= rank));
}

/** Of several demands: one word for all, and all of them without the ranks that a higher demanded rank meets. */
export function strictest(ladder: Ladder, demanded: readonly string[]): { level: string | null; levels: string[] } {
  const all = [...new Set(demanded)];
  const highest = inOrder(ladder).findLast((level) => all.includes(level));
  return { level: highest ?? all.at(-1) ?? null, levels: all.filter((level) => !all.some((other) => outranks(ladder, other, level))) };
}

const outranks = (ladder: Ladder, a: string, b: string): boolean => rankOf(ladder, b) >= 0 && rankOf(ladder, a) > rankOf(ladder, b);
