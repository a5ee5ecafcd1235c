/** What `cleared doctor` says of the walls around scripts and tool servers: which stand, which do not, and what to do about it. */
import { expect, test } from "vitest";
import { whyNoJail } from "../../tools/system-tools.ts";
import { cleared, commit, shell, workspace } from "./command-line.ts";

const linux = process.platform === "linux";
const SERVERS = `mcp: {mine: {command: node, args: [x.js], trusted: true}, theirs: {command: node, args: [y.js]}}`;
// A container as they come: no namespaces, and root without anything of root.
const BARE = `unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"' sh`;
const noJail = whyNoJail();

interface Line {
  what: string;
  value: string;
  ok: boolean;
}
const said = (lines: Line[], what: string): string[] => lines.filter((one) => one.what === what).map((one) => one.value);

async function made(): Promise<string> {
  const dir = await workspace();
  await shell(dir, `sed -i 's/^mcp:.*/${SERVERS}/' trust.yaml`);
  await commit(dir, {});
  await cleared(dir, "trust", "--accept-trust");
  return dir;
}

test.runIf(linux)("reports how scripts and tool servers are isolated, without complaints", async () => {
  const lines = (await cleared(await made(), "doctor", "--json")).json() as Line[];
  const [sandbox = ""] = said(lines, "sandbox");
  const held = noJail === null;
  expect(sandbox).toMatch(/^a process with Node's permission model; (?:bubblewrap with a filter of system calls|no jail), /);
  expect(sandbox.includes("bubblewrap")).toBe(held);
  const [mine, theirs] = said(lines, "tool server");
  expect(mine).toBe("mine: node");
  const how = held
    ? /^theirs: node; untrusted, in bubblewrap with a filter of system calls: writes in a temporary folder only$/
    : /^theirs: node; untrusted, no jail.*: it can read \.cleared, and write what you can$/;
  expect(theirs).toMatch(how);
  expect(lines.filter((one) => /sandbox|tool server|bubblewrap/.test(one.what)).every((one) => one.ok)).toBe(true);
});

test("without isolation everything still runs, and doctor says why and how to get it", async ({ skip }) => {
  skip(noJail !== null, noJail ?? "");
  const dir = await made();
  const lines = (await shell(dir, `${BARE} cleared doctor --json`)).json() as Line[];
  const [sandbox, ...why] = said(lines, "sandbox");
  expect(sandbox).toMatch(/^a process with Node's permission model; no jail/);
  expect(why.join("\n")).toMatch(/did not work: bubblewrap .*It needs user namespaces|did not work: no jail, another user/);
  expect(said(lines, "tool server")[1]).toMatch(/^theirs: node; untrusted, no jail.*: it can read \.cleared, and write what you can$/);
  const ran = await shell(dir, `printf '/*\\nname: Sum\\nuses: [ctx]\\n*/\\n1 + 1\\n' >sum.ts; ${BARE} cleared exec sum.ts`);
  expect(ran.stdout, ran.stderr).toMatch(/^done, 0 steps, dry run\n2\n/);
});
