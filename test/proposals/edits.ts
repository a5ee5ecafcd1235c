/** A workspace with some files to edit, for the tests of how an edit becomes a proposal. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../runtime/app/host.ts";
import { type Workspace, host, workspace } from "../engine/harness.ts";

export const wording = { title: "Another way", reason: "", by: "Pat" };
export const A = "/*\nname: A\n*/\n1\n";

export async function opened(files: Record<string, string> = {}): Promise<{ one: Workspace; owner: Host }> {
  const one = await workspace({ "agents/a.ts": A, "scripts/old.ts": "1\n", "policies/p.yaml": "rules: []\n", ...files });
  return { one, owner: await host(one) };
}

/** The files of the working tree, as they are, by path; one byte is one sign. */
export function filesIn(one: Workspace): Record<string, string> {
  const names = one.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0").filter(Boolean);
  return Object.fromEntries(
    [...new Set(names)]
      .filter((path) => existsSync(join(one.dir, path)))
      .map((path) => [path, readFileSync(join(one.dir, path), "latin1")]),
  );
}
