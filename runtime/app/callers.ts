/** Who asks over A2A and MCP: a token's owner, a program of this user, or anybody, where trust.yaml lets anybody ask. */
import { ClearedError } from "../kernel/errors.ts";
import { createTokenReader, listTokens } from "../workspace/settings/tokens.ts";
import type { Host } from "./host.ts";

/** Who asks, and which agents they may give tasks to; null: all that take tasks. */
export interface Caller {
  owner: string;
  agents: readonly string[] | null;
  /** Proves it; null for a program of this user, and for anybody. */
  token: string | null;
  /** By tools, and not by tasks: agents with trigger: mcp are offered as well. */
  via?: "mcp";
}

/** The owner of what programs of this user ask for without a token. A token's name has small letters. */
export const LOCAL = "LOCAL";

export function createCallers({ dir, trust }: Pick<Host, "dir" | "trust">) {
  const tokenOf = createTokenReader(dir);
  return {
    /** `isOwn` is looked up only without a token. @throws TASK_TOKEN */
    caller(token: string | null, isOwn: () => boolean): Caller {
      const found = token === null ? null : tokenOf(token);
      if (found !== null) return { owner: found.name, agents: found.agents, token };
      if (token === null && isOwn()) return { owner: LOCAL, agents: null, token };
      if (token === null && trust.anonymous.length > 0) return { owner: "ANYBODY", agents: trust.anonymous, token };
      const why = token === null ? "The kernel does not tell that this is a program of this user" : "This token is not known";
      const how = "`cleared tokens add NAME --agents AGENT` makes one: send it as Authorization: Bearer.";
      throw new ClearedError("TASK_TOKEN", `${why}. ${how}`);
    },
    /** Whether an owner may still be told of their tasks; only tokens have owners in small letters. */
    owners() {
      const names = new Set(listTokens(dir).map(({ name }) => name));
      return (owner: string) => !/^[a-z]/.test(owner) || names.has(owner);
    },
  };
}
