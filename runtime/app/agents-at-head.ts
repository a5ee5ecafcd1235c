/** The agents at HEAD of the configured branch with their headers, parsed once per content. */
import { ClearedError, type WireError, toWire } from "../kernel/errors.ts";
import type { Git, Tree } from "../kernel/ports.ts";
import { type Header, parseHeader } from "../scripts/header.ts";
import { AGENTS, agentOf, misnamed } from "../workspace/layout.ts";

export interface AgentAtHead {
  name: string;
  file: string;
  blob: string;
  header: Header | null;
  /** Why the header cannot be parsed. */
  error: WireError | null;
}

export function createAgents(git: Git): () => Promise<AgentAtHead[]> {
  const read = new Map<string, Promise<AgentAtHead>>();
  return async () => {
    const tree = git.tree(await git.head());
    const files = (await tree.list(AGENTS)).filter(({ path }) => path.endsWith(".ts"));
    return Promise.all(files.map((one) => read.getOrInsertComputed(`${one.path}@${one.blob}`, () => readAgent(tree, one))));
  };
}

async function readAgent(tree: Tree, { path: file, blob }: { path: string; blob: string }): Promise<AgentAtHead> {
  const agent = { name: agentOf(file), file, blob };
  try {
    const why = misnamed(file);
    if (why !== null) throw new ClearedError("SCRIPT_HEADER", why, { at: { file, line: 1 } });
    return { ...agent, header: parseHeader((await tree.read(file)) ?? "", file), error: null };
  } catch (error) {
    return { ...agent, header: null, error: toWire(error) };
  }
}
