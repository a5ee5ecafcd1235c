/** What the tests of checks share: a workspace that is only looked at, and findings as lines. */
import { checkFiles, type CheckedTree } from "../../runtime/app/check-api.ts";
import type { Host } from "../../runtime/app/host.ts";
import { formatAt } from "../../runtime/kernel/errors.ts";
import { host, type Workspace, workspace } from "../engine/harness.ts";

/** The header of a script of tests. */
export const header = (uses: string, more = "") => `/*\nname: Test\ndescription: test\nuses: [${uses}]\n${more}*/\n`;
let opened: Promise<{ one: Workspace; at: Host }> | null = null;
/** One for all tests that only look: a check changes nothing. */
export const place = () => (opened ??= fresh());
/** One that a test may change. */
export async function fresh(): Promise<{ one: Workspace; at: Host }> {
  const one = await workspace();
  return { one, at: await host(one) };
}

export const check = async (files: Record<string, string | null>, all = false): Promise<CheckedTree> =>
  checkFiles((await place()).at, { files, all });

/** `check: file:line:col CODE`, a remark in brackets. */
export const told = ({ checks }: CheckedTree): string[] =>
  checks.flatMap(({ check: name, findings }) =>
    findings.map(({ at, code, remark }) => `${name}: ${remark === true ? `(${formatAt(at)} ${code})` : `${formatAt(at)} ${code}`}`),
  );
export const status = ({ checks }: CheckedTree, name: string) => checks.find((one) => one.check === name)?.status;
