/**
 * Environment variables, with the names of the seeds. They are defaults for settings that the workspace omits and grant no rights: an address
 * must still be allowed in trust.yaml. Variables for models are read in llm/resolve.ts.
 */
import { ClearedError } from "../../kernel/errors.ts";

/** `tools`: the tool server of tasks that name none. `taskTimeoutMs`: how long a task may work. @throws USAGE naming the variable */
export function variables() {
  const { GREEN_AGENT_MCP_URL: tools, PORT: port } = process.env;
  const wrong = (name: string, what: string) =>
    new ClearedError("USAGE", `The environment variable ${name} must be ${what}; correct it, or unset it.`);
  const timeout = (name: string, otherwise: number, most: number): number => {
    const seconds = Number(process.env[name] || otherwise);
    if (!(seconds >= 0.1 && seconds <= most)) throw wrong(name, `seconds from 0.1 to ${most}`);
    return Math.round(seconds * 1000);
  };
  const url = tools ? URL.parse(tools) : null;
  if (tools && !(url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}` === ""))
    throw wrong("GREEN_AGENT_MCP_URL", "an http or https address without user name and password");
  if (port && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535)) throw wrong("PORT", "a port from 0 to 65535");
  const timeouts = { toolTimeoutMs: timeout("TOOL_TIMEOUT", 10, 600), taskTimeoutMs: timeout("TASK_TIMEOUT", 120, 86_400) };
  return { ...timeouts, tools: tools || null, port: port ? Number(port) : null };
}
