/** `cleared tokens add|list|remove`: who may give tasks to which agents (A2A, MCP). A token is shown once, when it is made. */
import { ClearedError, amongThese } from "../../kernel/errors.ts";
import { withLook } from "../../app/connect.ts";
import { holdersHere } from "../../app/identity.ts";
import { readLocal } from "../../app/local.ts";
import { addToken, listTokens, removeToken } from "../../workspace/settings/tokens.ts";
import type { Command } from "../invocation.ts";
import { when } from "../text.ts";

export const run: Command = async ({ output, dir }, [verb, name], options) => {
  if (verb === "list") {
    const tokens = listTokens(dir);
    output.result(tokens);
    output.rows(tokens.map((one) => [output.bold(one.name), one.agents.join(", "), `made ${when(one.at)}`]));
    if (tokens.length === 0) output.line("No tokens. Make one with `cleared tokens add NAME --agents AGENT,...`.");
    return 0;
  }
  if ((verb !== "add" && verb !== "remove") || name === undefined)
    throw new ClearedError(
      "USAGE",
      "Write `cleared tokens add NAME --agents AGENT,...`, `cleared tokens list` or `cleared tokens remove NAME`.",
    );
  if (verb === "remove") {
    removeToken(dir, name);
    output.result({ remove: name });
    output.line(`${name} is removed: requests are refused, streams end. Its tasks continue; a new token of this name sees them.`);
    return 0;
  }
  const agents = await offeredOf(dir, String(options["agents"] ?? ""));
  const token = addToken(dir, { name, agents, at: Date.now() }, holdersHere(readLocal(dir).trust)[0]?.key);
  output.result({ add: name, agents, token });
  output.line(`${name} may give tasks to ${agents.join(", ")}. Its token, shown this once:`);
  output.line(token);
};

/** @throws USAGE for an agent that accepts no tasks */
async function offeredOf(dir: string, list: string): Promise<string[]> {
  const wanted = [...new Set(list.split(",").map((one) => one.trim()))].filter((one) => one !== "");
  const offered = (await withLook(dir, (api) => api.agents()))
    .filter((one) => one.header?.trigger.some((word) => word === "a2a" || word === "mcp"))
    .map((one) => one.name);
  const wrong = wanted.find((one) => !offered.includes(one));
  if (wrong !== undefined)
    throw new ClearedError("USAGE", `"${wrong}" is not an agent at HEAD with trigger: a2a or mcp.${amongThese(wrong, offered)}`);
  if (wanted.length === 0) throw new ClearedError("USAGE", `Say which agents: --agents ${offered.slice(0, 2).join(",") || "NAME"}.`);
  return wanted;
}
