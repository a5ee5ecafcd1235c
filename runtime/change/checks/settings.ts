/**
 * Checks of what is not a script: config.yaml, policies with the cases written beside their rules, dialects of statements, and knowledge,
 * which is text and nothing else. Pure functions over the candidate's tree.
 */
import { toWire } from "../../kernel/errors.ts";
import type { Finding } from "../../kernel/ports.ts";
import { unseenIn } from "../../kernel/text.ts";
import { isAmountKey } from "../../rules/tools/trace.ts";
import type { VerifyDeclaration } from "../../rules/tools/verify.ts";
import type { Config } from "../../workspace/settings/config.ts";
import { CONFIG, IMPORTERS, POLICIES, TRUST, policyFile } from "../../workspace/layout.ts";
import { failureOf, parsePack } from "../../workspace/settings/policies.ts";
import { type Found, findingsIn, type Looked, type Subject } from "./findings.ts";
import { readScripts } from "./read-scripts.ts";

/** config.yaml as the candidate has it; null when it cannot be read. */
async function configOf({ config, tree }: Subject): Promise<{ config: Config | null; findings: Finding[] }> {
  try {
    return { config: await config(tree), findings: [] };
  } catch (error) {
    return { config: null, findings: findingsIn(error, CONFIG) };
  }
}

/** True where a second write would move money again and nothing declared tells the record before the write from the one after it. */
const lacksBefore = ({ expect = {}, before }: VerifyDeclaration): boolean =>
  before === undefined &&
  Object.entries(expect).some(([field, value]) => [field, String(value)].some((name) => isAmountKey(name) === true));

/** Finding CONFIG_INVALID: for config.yaml, and for a tool of trust.yaml that could pay twice. */
export async function lookAtConfig(subject: Subject): Promise<Looked> {
  const twice = Object.entries(subject.trust.mcp).flatMap(([server, { tools }]) =>
    Object.entries(tools).flatMap(([name, { verify }]): Finding[] => {
      if (verify === undefined || !lacksBefore(verify)) return [];
      const message = `mcp: ${server}: tools: ${name}: verify: expects an amount and has no before:, so a payment that answered an error could be sent twice. Write what the record says before it, such as before: {status: open}, or before: different for a tool that only sets fields.`;
      return [{ code: "CONFIG_INVALID", at: { file: TRUST }, message }];
    }),
  );
  return { says: CONFIG, findings: [...(await configOf(subject)).findings, ...twice] };
}

/** Findings POLICY_INVALID, POLICY_CASE for a case that does not hold, POLICY_UNKNOWN for a pack that a process needs. */
export async function lookAtPolicies(subject: Subject): Promise<Looked> {
  const { tree, paths } = subject;
  const all = (await tree.list(POLICIES)).map(({ path }) => path).filter((path) => path.endsWith(".yaml"));
  // Levels are those of the ladder in config.yaml: another ladder is another policy.
  const files = paths.includes(CONFIG) ? all : all.filter((path) => paths.includes(path) || subject.policies.includes(path));
  const missing = await unread(subject, all);
  const { config } = await configOf(subject);
  if (config === null) return { says: `${CONFIG} cannot be read`, findings: missing, skipped: true };
  const findings: Found[] = [...missing];
  let cases = 0;
  for (const file of files) {
    try {
      const pack = parsePack((await tree.read(file)) ?? "", file, config.policy);
      findings.push(...pack.warnings.map(({ at, message }) => ({ code: "POLICY_INVALID", at, message, remark: true as const })));
      cases += pack.cases.length;
      for (const one of pack.cases) {
        const { failure } = failureOf(one, pack, config.policy);
        if (failure !== null)
          findings.push({ code: "POLICY_CASE", at: { file }, message: `The case "${one.name}" does not hold: ${failure}.` });
      }
    } catch (error) {
      findings.push(...findingsIn(error, file));
    }
  }
  return { says: files.length === 0 ? "none is touched" : `${files.length} read, ${cases} cases`, findings };
}

/** Processes that evaluate a policy which the candidate does not have. */
async function unread(subject: Subject, all: readonly string[]): Promise<Finding[]> {
  const { agents } = await readScripts(subject);
  return agents.flatMap(({ header, scripts, agent }) => {
    const calls = (scripts ?? []).flatMap(({ calls }) => calls).filter(({ name }) => name === "policy_evaluate");
    return calls.flatMap(({ given, keys, at }) => {
      const named = keys?.includes("policy") === true ? given["policy"] : agent;
      // The pack of its process judges beside the one that is named.
      const packs = [named, header?.process].flatMap((name) => (name === undefined ? [] : [policyFile(name)]));
      const missing = (header?.process === undefined ? packs : packs.filter((pack) => pack !== policyFile(agent))).filter(
        (pack) => !all.includes(pack),
      );
      const message = (pack: string) => `${agent} is judged by ${pack}, which does not exist. Add it, or name another policy.`;
      return missing.map((pack) => ({ code: "POLICY_UNKNOWN", at, message: message(pack) }));
    });
  });
}

/** Finding CONFIG_INVALID in importers/. */
export async function lookAtImporters({ tree, paths }: Subject): Promise<Looked> {
  if (!paths.some((path) => path.startsWith(IMPORTERS))) return { says: "none is touched", findings: [] };
  const files = (await tree.list(IMPORTERS)).map(({ path }) => path).filter((path) => path.endsWith(".yaml"));
  const { parseDialects } = await import("../../workspace/statements/dialect.ts");
  const texts = await Promise.all(files.map(async (path) => ({ path, text: (await tree.read(path)) ?? "" })));
  const findings = texts.flatMap((one) => refusal(() => void parseDialects([one]), one.path));
  // Two dialects of one name are seen only together.
  const together = findings.length > 0 ? [] : refusal(() => void parseDialects(texts), IMPORTERS);
  return { says: `${files.length} read`, findings: [...findings, ...together] };
}

function refusal(read: () => void, file: string): Finding[] {
  try {
    read();
    return [];
  } catch (error) {
    return toWire(error).code === "INTERNAL"
      ? [{ code: "CONFIG_INVALID", at: { file }, message: toWire(error).message }]
      : findingsIn(error, file);
  }
}

const KNOWLEDGE = "knowledge/";
// What was learnt is read by people and by models: a page, not a book.
const KNOWLEDGE_BYTES = 262_144;
// What a reader does not see could speak to a model alone. Some languages join and part letters with these two.
const JOINERS = "\u200c\u200d";
const isText = (line: string): boolean =>
  !line.includes("\ufffd") && [...unseenIn(`${line}\n`)].every(({ sign }) => JOINERS.includes(sign));

/** Finding FILE_INVALID for what is no text. */
export async function lookAtKnowledge({ tree, paths }: Subject): Promise<Looked> {
  const files = paths.filter((path) => path.startsWith(KNOWLEDGE));
  const findings: Finding[] = [];
  for (const file of files) {
    const text = (await tree.read(file)) ?? "";
    const line = text.split("\n").findIndex((one) => !isText(one));
    const large = `${file} has ${text.length} characters; at most ${KNOWLEDGE_BYTES} are read. Split it.`;
    const odd = `${file} holds something that is not text (a control character, or an invisible one). Write plain text.`;
    if (text.length > KNOWLEDGE_BYTES) findings.push({ code: "FILE_TOO_LARGE", at: { file }, message: large });
    if (line >= 0) findings.push({ code: "FILE_INVALID", at: { file, line: line + 1 }, message: odd });
  }
  return { says: files.length === 0 ? "none is touched" : `${files.length} read`, findings };
}
