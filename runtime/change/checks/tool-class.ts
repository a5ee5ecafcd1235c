/** What a tool call is, as far as trust.yaml and the tool's name tell it without asking its server. */
import { classIn } from "../../rules/tools/classify.ts";
import type { Trust } from "../../workspace/settings/config.ts";
import { type ToolClassOf, classByName } from "./states.ts";

/** Of a trusted server's other tools only the server can say whether they write. */
export function toolClassIn(trust: Pick<Trust, "mcp">): ToolClassOf {
  return (tool) => {
    const [server = "", ...rest] = tool.split("/");
    const known = Object.hasOwn(trust.mcp, server) ? trust.mcp[server] : undefined;
    const name = rest.join("/");
    const found = known === undefined ? classByName(tool) : classIn(known, name);
    return known?.trusted === true && found?.class === "mutate" && known.tools[name]?.class === undefined ? null : found;
  };
}
