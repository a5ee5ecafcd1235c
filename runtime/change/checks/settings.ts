/**
 * Checks of everything other than scripts: config.yaml and the names in it, dialects of statements, and knowledge, which must be plain text.
 * Pure functions over the candidate's tree.
 */
import { didYouMean, toWire } from "../../kernel/errors.ts";
import type { Finding } from "../../kernel/ports.ts";
import { unseenIn } from "../../kernel/text.ts";
import { isAmountKey } from "../../rules/tools/trace.ts";
import type { VerifyDeclaration } from "../../rules/tools/verify.ts";
import type { Config } from "../../workspace/settings/config.ts";
import { readYaml } from "../../scripts/yaml-text.ts";
import { parseMain } from "../../workspace/books/main-journal.ts";
import { accountFaults } from "../../workspace/books/verify.ts";
import { CONFIG, IMPORTERS, KNOWLEDGE, MAIN_JOURNAL, TRUST, agentFile } from "../../workspace/layout.ts";
import { type Found, findingsIn, type Looked, type Subject } from "./findings.ts";

/** config.yaml of the candidate; null if it cannot be parsed. */
export async function configOf({ config, tree }: Subject): Promise<{ config: Config | null; findings: Finding[] }> {
  try {
    return { config: await config(tree), findings: [] };
  } catch (error) {
    return { config: null, findings: findingsIn(error, CONFIG) };
  }
}

/** True if a second write would move money again and nothing declared distinguishes the record before the write from the one after it. */
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
  const { config, findings } = await configOf(subject);
  return { says: CONFIG, findings: [...findings, ...(config === null ? [] : await lostNames(subject, config)), ...twice] };
}

/** Names in config.yaml that do not exist in the candidate: a statement or notice would fail only when it arrives. */
async function lostNames({ tree, trust }: Subject, config: Config): Promise<Found[]> {
  const read = async (file: string) => readYaml((await tree.read(file)) ?? "", { file, code: "CONFIG_INVALID", maxLength: 262_144 });
  const found: { code: string; path: (string | number)[]; says: string; remark?: true }[] = [];

  found.push(...accountFaults(config, parseMain((await tree.read(MAIN_JOURNAL)) ?? "")));

  const dialects = config.statements.flatMap(({ dialect, match }, n) => [
    ...(dialect === undefined ? [] : [{ path: ["statements", n, "dialect"], name: dialect }]),
    ...(match.dialect === undefined ? [] : [{ path: ["statements", n, "match", "dialect"], name: match.dialect }]),
  ]);
  const files = dialects.length === 0 ? [] : (await tree.list(IMPORTERS)).filter(({ path }) => path.endsWith(".yaml"));
  // Other checks report errors in these files.
  const values = await Promise.all(files.map(({ path }) => read(path).catch(() => null)));
  const mapped = config.statements.flatMap(({ mapping, dialect = "generic" }) => (mapping === undefined ? [] : [dialect]));
  // OFX and QFX files state their own format.
  const known = ["ofx", ...values.flatMap((one) => (one?.value as { name?: string } | undefined)?.name ?? []), ...mapped];
  for (const { path, name } of dialects.filter((one) => !known.includes(one.name))) {
    const says = `is ${name}, and no dialect in ${IMPORTERS} is called so.${didYouMean(name, known)} Bring it back, or write another one here; there are ${known.join(", ")}.`;
    found.push({ code: "CONFIG_INVALID", path, says });
  }

  const channel = config.notify.default;
  // Only names are read from trust.yaml here, so it need not be confirmed on this machine.
  const said = channel === "page" ? null : ((await read(TRUST)).value as { notices?: { smtp?: unknown; webhooks?: object | null } } | null);
  const channels = ["page", ...(said?.notices?.smtp == null ? [] : ["smtp"]), ...Object.keys(said?.notices?.webhooks ?? {})];
  const unsent = `is ${channel}, which is not a channel of ${TRUST}.${didYouMean(channel, channels)} Write one of ${channels.join(", ")}.`;
  if (!channels.includes(channel)) found.push({ code: "NOTICE_CHANNEL", path: ["notify", "default"], says: unsent });

  const undoing = Object.entries(trust.mcp).flatMap(([server, { tools }]) =>
    Object.entries(tools).map(([tool, { undo }]) => ({ path: ["mcp", server, "tools", tool, "undo", "agent"], name: undo?.agent })),
  );
  const agents = [
    ...trust.anonymous.map((name) => ({ path: ["anonymous"], name })),
    ...Object.keys(trust.approvals.agents).map((name) => ({ path: ["approvals", "agents", name], name })),
    ...Object.keys(trust.limits.agents).map((name) => ({ path: ["limits", "agents", name], name })),
  ];
  for (const { path, name } of [...undoing, ...agents]) {
    if (name === undefined || (await tree.blob(agentFile(name))) !== null) continue;
    const says = `names the agent ${name}, and there is no ${agentFile(name)}. Bring it back, or have a person take it out of ${TRUST}.`;
    // Only a person changes that file, so this does not prevent the removal of an agent.
    found.push({ code: "AGENT_UNKNOWN", path, says, remark: true });
  }
  const told = found.map(async ({ path, says, ...one }): Promise<Found> => {
    const at = (await read(one.remark === true ? TRUST : CONFIG)).at(path);
    return { ...one, at, message: `${path.join(".")} ${says}` };
  });
  return Promise.all(told);
}

/** Finding CONFIG_INVALID in importers/. */
export async function lookAtImporters({ tree, paths, also }: Subject): Promise<Looked> {
  if (![...paths, ...also].some((path) => path.startsWith(IMPORTERS))) return { says: "none is touched", findings: [] };
  const files = (await tree.list(IMPORTERS)).map(({ path }) => path).filter((path) => path.endsWith(".yaml"));
  const { parseDialects } = await import("../../workspace/statements/dialect.ts");
  const texts = await Promise.all(files.map(async (path) => ({ path, text: (await tree.read(path)) ?? "" })));
  const findings = texts.flatMap((one) => refusal(() => void parseDialects([one]), one.path));
  // Two dialects of the same name are found only by parsing them together.
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

// Knowledge is read by people and by models: a page, not a book.
const KNOWLEDGE_BYTES = 262_144;
// Invisible characters could address a model alone. Some languages need these two to join and separate letters.
const JOINERS = "\u200c\u200d";
const isText = (line: string): boolean =>
  !line.includes("\ufffd") && [...unseenIn(`${line}\n`)].every(({ sign }) => JOINERS.includes(sign));

/** Finding FILE_INVALID for anything other than text. */
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
