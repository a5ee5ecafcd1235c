/**
 * What the environment of the process says: the seeds' names. They fill in what the workspace leaves open and give no right: an address must be
 * allowed in trust.yaml all the same. Those of models are read in llm/resolve.ts.
 */
import { ClearedError } from "../../kernel/errors.ts";

export interface Variables {
  /** Of tasks that name no tools. */
  tools: string | null;
  toolTimeoutMs: number;
  port: number | null;
}

const TOOL_TIMEOUT_S = 10;

/** @throws USAGE naming the variable */
export function variables({ GREEN_AGENT_MCP_URL: tools, TOOL_TIMEOUT: seconds, PORT: port }: NodeJS.ProcessEnv = process.env): Variables {
  const wrong = (name: string, what: string) =>
    new ClearedError("USAGE", `The environment variable ${name} must be ${what}; correct it, or unset it.`);
  const url = tools ? URL.parse(tools) : null;
  if (tools && !(url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}` === ""))
    throw wrong("GREEN_AGENT_MCP_URL", "an http or https address without user name and password");
  const timeout = seconds ? Number(seconds) : TOOL_TIMEOUT_S;
  if (!(timeout >= 0.1 && timeout <= 600)) throw wrong("TOOL_TIMEOUT", "seconds from 0.1 to 600");
  if (port && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) throw wrong("PORT", "a port from 0 to 65535");
  return { tools: tools || null, toolTimeoutMs: Math.round(timeout * 1000), port: port ? Number(port) : null };
}
