/**
 * Checks of what is not a script: config.yaml with what it names, dialects of statements, and knowledge, which is text and nothing else. Pure
 * functions over the candidate's tree.
 */
import { didYouMean, toWire } from "../../kernel/errors.ts";
import type { Finding } from "../../kernel/ports.ts";
import { unseenIn } from "../../kernel/text.ts";
import { isAmountKey } from "../../rules/tools/trace.ts";
import type { VerifyDeclaration } from "../../rules/tools/verify.ts";
import type { Config } from "../../workspace/settings/config.ts";
import { readYaml } from "../../scripts/yaml-text.ts";
import { accountHint, parseMain } from "../../workspace/books/main-journal.ts";
import { CONFIG, IMPORTERS, MAIN_JOURNAL, TRUST } from "../../workspace/layout.ts";
import { findingsIn, type Looked, type Subject } from "./findings.ts";

/** config.yaml as the candidate has it; null when it cannot be read. */
export async function configOf({ config, tree }: Subject): Promise<{ config: Config | null; findings: Finding[] }> {
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
  const { config, findings } = await configOf(subject);
  return { says: CONFIG, findings: [...findings, ...(config === null ? [] : await lostNames(subject, config)), ...twice] };
}

/** What config.yaml names and the candidate does not have: a statement, or a notice, would meet it only when it comes. */
async function lostNames({ tree }: Subject, config: Config): Promise<Finding[]> {
  const read = async (file: string) => readYaml((await tree.read(file)) ?? "", { file, code: "CONFIG_INVALID", maxLength: 262_144 });
  const [yaml, chart] = [await read(CONFIG), parseMain((await tree.read(MAIN_JOURNAL)) ?? "")];
  const files = (await tree.list(IMPORTERS)).filter(({ path }) => path.endsWith(".yaml"));
  // What is wrong with one of them is another check's to tell.
  const dialects = await Promise.all(
    files.map(({ path }) =>
      read(path).then(
        ({ value }) => String((value as { name?: unknown } | null)?.name),
        () => "",
      ),
    ),
  );
  const mapped = config.statements.flatMap(({ mapping, dialect = "generic" }) => (mapping === undefined ? [] : [dialect]));
  // OFX and QFX say themselves what they are.
  const known = ["ofx", ...new Set([...dialects, ...mapped].filter((name) => name !== ""))];
  // Whether or not a person of this machine has confirmed it: here it gives nothing but names.
  const { notices } = ((await read(TRUST)).value ?? {}) as { notices?: { smtp?: unknown; webhooks?: object | null } | null };
  const channels = ["page", ...(notices?.smtp == null ? [] : ["smtp"]), ...Object.keys(notices?.webhooks ?? {})];
  const lost = (code: string, path: (string | number)[], message: string): Finding => ({
    code,
    at: yaml.at(path),
    message: `${path.join(".")} ${message}`,
  });
  const account = (path: (string | number)[], word: string): Finding[] =>
    chart.byWord.has(word)
      ? []
      : [lost("ACCOUNT_UNKNOWN", path, `is ${word}, which ${MAIN_JOURNAL} does not have.${accountHint(chart, word)}`)];
  const dialect = (path: (string | number)[], name: string | undefined): Finding[] =>
    name === undefined || known.includes(name)
      ? []
      : [
          lost(
            "CONFIG_INVALID",
            path,
            `is ${name}, and no dialect in ${IMPORTERS} is called so.${didYouMean(name, known)} Bring it back, or write another one here; there are ${known.join(", ")}.`,
          ),
        ];
  const channel = config.notify.default;
  const unsent = `is ${channel}, which is not a channel of ${TRUST}.${didYouMean(channel, channels)} Write one of ${channels.join(", ")}.`;
  return [
    ...(channels.includes(channel) ? [] : [lost("NOTICE_CHANNEL", ["notify", "default"], unsent)]),
    ...Object.entries(config.accounts).flatMap(([key, word]) => account(["accounts", key], word)),
    ...config.statements.flatMap((one, n) => [
      ...account(["statements", n, "account"], one.account),
      ...dialect(["statements", n, "dialect"], one.dialect),
      ...dialect(["statements", n, "match", "dialect"], one.match.dialect),
    ]),
  ];
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
