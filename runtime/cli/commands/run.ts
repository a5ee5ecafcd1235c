/** `cleared run NAME`, `exec FILE.ts`, `call NAME`: an agent at HEAD, any script file (dry unless --live), primitives one by one (dry). */
import { ClearedError, EXIT, kindOf } from "../../kernel/errors.ts";
import type { Given, Json } from "../../kernel/ports.ts";
import type { AgentFact } from "../../app/api.ts";
import { withApi, withDryApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import { withStore } from "../../app/look.ts";
import { gateLines, printRun } from "../print-run.ts";
import { atWork } from "../progress.ts";
import { type Header, parseHeader } from "../../scripts/header.ts";
import type { InputField } from "../../scripts/fields.ts";
import { IS_PAIR } from "../../app/starts.ts";
import { readIfThere } from "../../workspace/own-folders.ts";
import { pairsOf } from "./decide.ts";
import { textsOf, parseJson, readNamed } from "../text.ts";
import { relative, resolve } from "node:path";
import { formatError } from "../output.ts";
import { jsonOf, printable } from "../../kernel/text.ts";

export const run: Command = async ({ output, dir }, [agent = ""], options) => {
  const dry = options["dryRun"] === true;
  const given = givenOf(options);
  const record = await atWork(dry ? withDryApi : withApi, dir, async (api) =>
    api.run({
      agent,
      input: await inputOf((options["input"] ?? []) as string[], async () => fieldsOf(await api.agents(), agent)),
      ...{ dry, wait: options["wait"] !== false, ...textsOf(options, "key"), ...starterHere(dir) },
      ...(given === null ? {} : { given }),
      ...(options["again"] === undefined ? {} : { again: options["again"] as string[] }),
    }),
  );
  const exit = printRun(output, record, dir);
  if (!dry && record.status === "waiting" && (record.reason === "approval" || record.reason === "escalation"))
    output.lines(gateLines(await withStore(dir, (look) => look.show(record.id))));
  return exit;
};

const fieldsOf = (agents: AgentFact[], agent: string) => agents.find(({ name }) => name === agent)?.header?.input ?? {};

// Rules are never longer than this.
const POLICY_LIMIT = 262_144;

/** What the run is given besides its input. @throws FILE_MISSING, FILE_TOO_LARGE */
function givenOf(options: Record<string, unknown>): Given | null {
  const given: Given = {};
  if (options["readOnly"] === true) given.readOnly = true;
  if (typeof options["tools"] === "string") {
    if (!/^https?:$/.test(URL.parse(options["tools"])?.protocol ?? ""))
      throw new ClearedError("USAGE", `--tools takes the http or https address of a tool server, not "${options["tools"]}".`);
    // The address is stored with the run and shown.
    const { username, password } = new URL(options["tools"]);
    if (username !== "" || password !== "")
      throw new ClearedError("USAGE", "--tools takes no user name or password: name the server under mcp: in trust.yaml, with headers.");
    given.tools = options["tools"];
  }
  if (typeof options["policy"] === "string") given.policy = readPolicy(options["policy"]);
  return Object.keys(given).length === 0 ? null : given;
}

function readPolicy(file: string): string {
  const text = readNamed(file, "; --policy takes a file of JSON rules, or of prose");
  if (text.length > POLICY_LIMIT)
    throw new ClearedError("FILE_TOO_LARGE", `${file} is longer than ${POLICY_LIMIT / 1024} KiB; a policy is a few pages.`);
  return text;
}

/** given: each --input. fieldsOf: `input:` of the header, read only if a value must be parsed by its type. @throws USAGE */
async function inputOf(given: readonly string[], fieldsOf: () => Promise<Header["input"]>): Promise<Json> {
  const [only] = given;
  if (only === undefined || (given.length === 1 && !IS_PAIR.test(only))) return parseJson(only, "--input");
  const pairs = Object.entries(pairsOf(given));
  const fields = await fieldsOf();
  return Object.fromEntries(pairs.map(([name, text]) => [name, typed(text, Object.hasOwn(fields, name) ? fields[name] : undefined)]));
}

/** The value of a text. Text that does not fit the type stays text, and the header's check reports it. */
function typed(text: string, field: InputField | undefined): Json {
  const type = field?.type ?? "string";
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (!["number", "integer", "list", "object"].includes(type)) return text;
  // A value that is not JSON is not a number, list or object.
  const value = jsonOf(text);
  return value === undefined ? text : value;
}

/** Nothing is written or sent unless --live. */
export const exec: Command = async ({ output, dir }, [file = ""], options) => {
  const path = resolve(file);
  const text = readIfThere(path);
  if (text === null) throw new ClearedError("FILE_MISSING", `${file} does not exist.`);
  const live = options["live"] === true;
  const shown = relative(dir, path).startsWith("..") ? file : relative(dir, path);
  const input = await inputOf((options["input"] ?? []) as string[], async () => parseHeader(text, shown).input);
  const asked = { file: shown, text, input, live, check: options["unchecked"] !== true, ...starterHere(dir) };
  const result = await atWork(live ? withApi : withDryApi, dir, (api) => api.exec(asked));
  output.result(result);
  if (result.error !== undefined && !output.json) output.note(formatError(result.error, dir));
  if (result.error === undefined)
    output.text(`${result.status}, ${result.steps} steps${live ? "" : ", dry run"}\n${JSON.stringify(result.result ?? null, null, 2)}`);
  return result.error === undefined ? 0 : EXIT[kindOf(result.error.code)];
};

/** What they write is discarded. One JSON result per line. */
export const call: Command = async ({ dir }, [name, params], options) => {
  const batch = options["batch"] as string | undefined;
  if (batch === undefined && name === undefined) throw new ClearedError("USAGE", "Name a primitive, or a file of calls with --batch.");
  const calls = batch === undefined ? [{ name: String(name), params: parseJson(params, "The parameters") }] : readBatch(batch);
  const answers = await withDryApi(dir, (api) => api.call({ calls }));
  for (const answer of answers) process.stdout.write(`${printable(JSON.stringify(answer))}\n`);
  const failed = answers.find((answer) => "error" in answer);
  return failed !== undefined && "error" in failed ? EXIT[kindOf(failed.error.code)] : 0;
};

function readBatch(file: string): { name: string; params: Json }[] {
  return readNamed(file)
    .split("\n")
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== "")
    .map(({ line, number }) => {
      const call = parseJson(line, `${file}:${number}`) as { name?: string; params?: Json };
      if (typeof call?.name !== "string")
        throw new ClearedError("USAGE", `${file}:${number} has no "name". Write {"name": "importer_scan", "params": {}}.`);
      return { name: call.name, params: call.params ?? {} };
    });
}
