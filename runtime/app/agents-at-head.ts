/** The agents of HEAD of the configured branch with their headers, read once for each content. */
import { ClearedError, type WireError, toWire } from "../kernel/errors.ts";
import type { Git } from "../kernel/ports.ts";
import { type Header, parseHeader } from "../scripts/header.ts";
import { AGENTS } from "../workspace/layout.ts";

/** An agent as HEAD of the configured branch has it. */
export interface AgentAtHead {
  name: string;
  file: string;
  blob: string;
  header: Header | null;
  /** Why the header cannot be read. */
  error: WireError | null;
}

const AGENT_FILE = /^agents\/[a-z][a-z0-9_-]*\.ts$/;

export function createAgents(git: Git): () => Promise<AgentAtHead[]> {
  const read = new Map<string, AgentAtHead>();
  return async () => {
    const tree = git.tree(await git.head());
    const files = (await tree.list(AGENTS)).filter(({ path }) => path.endsWith(".ts"));
    return Promise.all(
      files.map(async ({ path, blob }) => {
        const key = `${path}@${blob}`;
        let found = read.get(key);
        if (found === undefined) {
          found = { name: path.slice(AGENTS.length, -3), file: path, blob, header: null, error: null };
          try {
            if (!AGENT_FILE.test(path)) {
              throw new ClearedError(
                "SCRIPT_HEADER",
                `${path} cannot be an agent by this name: use small letters, digits, "-" and "_", directly in ${AGENTS}, such as agents/monthly-close.ts.`,
                { at: { file: path, line: 1 } },
              );
            }
            found.header = parseHeader((await tree.read(path)) ?? "", path);
          } catch (error) {
            found.error = toWire(error);
          }
          read.set(key, found);
        }
        return found;
      }),
    );
  };
}
