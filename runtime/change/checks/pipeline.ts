/**
 * The checks of a change, as one list: each reads the candidate's tree and returns findings; none stops another. A check without what it needs
 * (a script that does not compile has no types) is skipped, and says so.
 * Callers: `cleared check`, proposals (change/proposals/prepare.ts), `cleared exec` and `cleared doctor` through checkScripts.
 */
import { count } from "../../kernel/text.ts";
import { formatAt, toWire } from "../../kernel/errors.ts";
import type { Finding } from "../../kernel/ports.ts";
import { type CheckName, type CheckResult, type Found, type Looked, type Subject, explain, textAt } from "./findings.ts";
import { inOrder } from "./lint.ts";
import { agentFiles, readableHeader } from "./reached.ts";
import { agentFile } from "../../workspace/layout.ts";
import { type AgentScripts, type ScriptSubject, readScripts } from "./read-scripts.ts";
import { lookAtPolicies } from "./policies.ts";
import { lookAtConfig, lookAtImporters, lookAtKnowledge } from "./settings.ts";
import { lookAtTools } from "./tools.ts";
import { typeScripts } from "./typecheck.ts";

export interface Check {
  name: CheckName;
  /** Must not act on anything. An error it throws becomes a finding. */
  look(subject: Subject): Promise<Looked>;
}

const CHECK_OF: Record<string, CheckName> = {
  SCRIPT_HEADER: "header",
  HEADER_TRIGGER: "header",
  SCRIPT_CAPABILITY: "capabilities",
  FSM_READ_ONLY: "capabilities",
  CHECK_HIDDEN_BRANCH: "capabilities",
  FSM_MACHINE: "states",
  FSM_EDGE: "states",
  FSM_GATE: "states",
  FSM_STATE: "states",
};

/** A check of scripts: its share of the findings of readScripts. */
function ofScripts(name: CheckName): Check {
  return {
    name,
    async look(subject) {
      const { agents, files, findings } = await readScripts(subject);
      const own = inOrder(findings.filter(({ code }) => (CHECK_OF[code] ?? "lint") === name));
      if (name === "lint") return { says: count(new Set([...files, ...agents].map(({ file }) => file)).size, "script"), findings: own };
      const isRead = ({ scripts, header }: AgentScripts) => name === "header" || (scripts !== null && header !== null);
      const readable = agents.filter(isRead).length;
      const says = readable === agents.length ? count(agents.length, "agent") : `${readable} of ${agents.length} agents`;
      return { says, findings: own, skipped: readable === 0 && agents.length > 0 };
    },
  };
}

const types: Check = {
  name: "types",
  async look(subject) {
    const { agents, files, findings } = await readScripts(subject);
    if (files.length === 0) return { says: "no script compiles", findings: [], skipped: agents.length > 0 };
    return { says: count(files.length, "script"), findings: await typeScripts(files, subject.registry, findings) };
  },
};

/** The headers, and schedules that never occur. */
const headers: Check = {
  name: "header",
  async look(subject) {
    const looked = await ofScripts("header").look(subject);
    const { agents } = await readScripts(subject);
    const never = await Promise.all(
      agents.map(async ({ agent, file, header }): Promise<Found[]> => {
        if (header?.schedule === undefined || !header.trigger.includes("schedule")) return [];
        const expression = header.schedule;
        const message = await subject.scheduleProblem({ agent, expression, timezone: header.timezone ?? "UTC" });
        const line = (await subject.tree.read(file))?.split("\n").findIndex((one) => /^[\s*]*schedule:/.test(one)) ?? -1;
        return message === null ? [] : [{ code: "HEADER_TRIGGER", at: { file, ...(line < 0 ? {} : { line: line + 1 }) }, message }];
      }),
    );
    return { ...looked, findings: inOrder([...looked.findings, ...never.flat(), ...(await strangers(subject))]) };
  },
};

/** Agents named in a header that do not exist: the call would be refused. */
async function strangers({ tree, files, paths }: Subject): Promise<Found[]> {
  const all = await agentFiles(tree);
  const found = all.map(async (file): Promise<Found[]> => {
    const source = await textAt(tree, file);
    const called = readableHeader(source, file)?.uses.flatMap((one) => (one.startsWith("agent:") ? [one.slice(6)] : [])) ?? [];
    const gone = called.filter((name) => !all.includes(agentFile(name)) && (files.includes(file) || paths.includes(agentFile(name))));
    const line = source.split("\n").findIndex((one) => one.includes("agent:")) + 1;
    return gone.map((name) => ({
      code: "AGENT_UNKNOWN",
      at: { file, ...(line === 0 ? {} : { line }) },
      message: `It may call the agent ${name}, and there is no ${agentFile(name)}.`,
    }));
  });
  return (await Promise.all(found)).flat();
}

/** All checks that execute nothing, in the order in which they are reported. */
export const STATIC_CHECKS: readonly Check[] = [
  { name: "config", look: lookAtConfig },
  headers,
  ofScripts("lint"),
  types,
  ofScripts("capabilities"),
  ofScripts("states"),
  { name: "policies", look: lookAtPolicies },
  { name: "importers", look: lookAtImporters },
  { name: "knowledge", look: lookAtKnowledge },
  { name: "tools", look: lookAtTools },
];

/** All results, in the order of the checks. An error of Cleared itself is thrown after all others ran. */
export async function runChecks(subject: Subject, checks: readonly Check[]): Promise<CheckResult[]> {
  return Promise.all(
    checks.map(async (check) => {
      const started = performance.now();
      const looked = await check.look(subject).catch(refused);
      const findings = explain(looked.findings);
      const failed = findings.some((one) => one.remark !== true);
      return {
        check: check.name,
        status: failed ? "failed" : looked.skipped === true ? "skipped" : "ok",
        says: looked.says,
        findings,
        ms: Math.round(performance.now() - started),
      };
    }),
  );
}

/**
 * The checks for judging a change on its own: a finding in a file that it does not change, and that existed before, becomes a remark.
 * `before`: the base, checked in the same way; read only if something is found.
 */
export function sinceBase(checks: readonly Check[], before: () => Promise<Subject>): Check[] {
  const keyOf = ({ code, at, message }: Found) => `${code} ${formatAt(at)} ${message}`;
  return checks.map((check) => ({
    name: check.name,
    async look(subject) {
      const looked = await check.look(subject);
      const mayBeOld = ({ at, remark }: Found) => remark !== true && !subject.paths.includes(at.file);
      if (!looked.findings.some(mayBeOld)) return looked;
      const known = new Set((await check.look(await before())).findings.map(keyOf));
      const findings = looked.findings.map((one) =>
        mayBeOld(one) && known.has(keyOf(one))
          ? { ...one, message: `Before this change already: ${one.message}`, remark: true as const, older: true as const }
          : one,
      );
      return { ...looked, findings };
    },
  }));
}

/** A check that cannot be made has failed. */
function refused(error: unknown): Looked {
  const { code, message, at } = toWire(error);
  if (code === "INTERNAL") throw error;
  return { says: "could not be made", findings: [{ code, at: at ?? { file: "" }, message }] };
}

/** All static findings about one script with its sub-scripts, whatever file it is, in line order. */
export async function checkScript(subject: Omit<ScriptSubject, "paths" | "files">, file: string): Promise<Finding[]> {
  const whole: ScriptSubject = { ...subject, paths: [], files: [file] };
  const { files, findings: found } = await readScripts(whole);
  const findings = found.filter(({ remark }) => remark !== true);
  const all = [...findings, ...(await typeScripts(files, subject.registry, findings))];
  const order = [file, ...files.map((one) => one.file)];
  return order.filter((one, i) => order.indexOf(one) === i).flatMap((one) => inOrder(all.filter(({ at }) => at.file === one)));
}
