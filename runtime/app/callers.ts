/** Callers over A2A and MCP: the owner of a token, a program of this user, or anybody, if trust.yaml allows that; and their limits. */
import { ClearedError } from "../kernel/errors.ts";
import type { Config } from "../workspace/settings/config.ts";
import { NOBODY } from "../kernel/text.ts";
import { createTokenReader, listTokens, makerOf } from "../workspace/settings/tokens.ts";
import type { Host } from "./host.ts";
import { starter } from "./identity.ts";

/** A caller, and the agents they may give tasks to; null: all that accept tasks. */
export interface Caller {
  owner: string;
  agents: readonly string[] | null;
  /** The proof; null for a program of this user and for anonymous callers. */
  token: string | null;
  /** Calls tools instead of giving tasks: agents with trigger: mcp are offered as well. */
  via?: "mcp";
}

/** The owner for programs of this user without a token. Token names are lower case, so they cannot collide. */
export const LOCAL = "LOCAL";

export type Limits = Config["callers"];

/** For all callers together; the remaining connections are for the page and short requests (outside/http.ts). */
export const ALL_OPEN = 450;

/** `after`: seconds. */
export const full = (message: string, after: number): ClearedError =>
  new ClearedError("TASK_LIMIT", message, { data: { rpc: -32029, retry_after: after } });

/** Counts open requests, per owner and in total. */
export function createSeats(limit: () => Promise<number>, all: number) {
  const open = new Map<string, number>();
  let taken = 0;
  /** Returns the function that releases the place, to be called once. `next`: what to do instead. @throws TASK_LIMIT */
  return async (owner: string, what: string, next: string): Promise<() => void> => {
    const most = await limit();
    const place = `${owner} ${what}`;
    const mine = open.get(place) ?? 0;
    const mineOf = `Too many ${what} wait here, ${mine} of them yours, of ${most}`;
    const allOf = `All callers together have ${all} requests waiting, as many as there may be; ${mine} ${what} of them are yours`;
    if (mine >= most || taken >= all) throw full(`${mine >= most ? mineOf : allOf}. ${next}`, 5);
    const add = (by: number) => {
      taken += by;
      open.set(place, (open.get(place) ?? 0) + by);
    };
    add(1);
    return () => add(-1);
  };
}

export function createCallers({ dir, trust, config }: Pick<Host, "dir" | "trust" | "config">) {
  const tokenOf = createTokenReader(dir);
  let known: { limits: Limits; until: number } | null = null;
  /** Read several times per request; a change of the file takes effect within a second. */
  const limits = async (): Promise<Limits> => {
    if (known === null || performance.now() >= known.until) known = { limits: (await config()).callers, until: performance.now() + 1000 };
    return known.limits;
  };
  return {
    /** `isOwn` is called only without a token. @throws TASK_TOKEN */
    caller(token: string | null, isOwn: () => boolean): Caller {
      const found = token === null ? null : tokenOf(token);
      if (found !== null) return { owner: found.name, agents: found.agents, token };
      if (token === null && isOwn()) return { owner: LOCAL, agents: null, token };
      if (token === null && trust.anonymous.length > 0) return { owner: "ANYBODY", agents: trust.anonymous, token };
      const why = token === null ? "The kernel does not tell that this is a program of this user" : "This token is not known";
      const how = "`cleared tokens add NAME --agents AGENT` makes one: send it as Authorization: Bearer.";
      throw new ClearedError("TASK_TOKEN", `${why}. ${how}`);
    },
    /**
     * Who counts as having started a caller's tasks, so that they do not approve them alone: of a program of this user the user, as with a command;
     * of a token whoever made it, who knows it. Nobody for an anonymous caller.
     */
    starterOf({ owner, token }: Caller): { by?: string } {
      if (owner === LOCAL) return { by: starter(trust).by ?? NOBODY };
      const found = token === null ? null : tokenOf(token);
      return token === null ? {} : { by: (found && makerOf(found, trust.people)) ?? NOBODY };
    },
    limits,
    /** A connection held open by a request. @throws TASK_LIMIT */
    hold: createSeats(async () => (await limits()).open, ALL_OPEN),
    /** Called before storing anything for an owner who already has this many bytes. @throws TASK_LIMIT */
    async room(stored: number): Promise<void> {
      const { stored_mb: most, keep_days: days } = await limits();
      if (stored < most * 1_000_000) return;
      const how = `Those that have ended are removed after ${days} days; cancel those that wait for you.`;
      throw full(`Your tasks take up the ${most} MB that they may here. ${how}`, 3600);
    },
    /** Whether an owner may still be notified about their tasks; only owners with tokens have lower case names. */
    owners() {
      const names = new Set(listTokens(dir).map(({ name }) => name));
      return (owner: string) => !/^[a-z]/.test(owner) || names.has(owner);
    },
  };
}
