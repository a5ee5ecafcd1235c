/** `cleared run NAME`: start an agent at HEAD and wait until it has ended or waits for a person. */
import { readFileSync } from "node:fs";
import { ClearedError } from "../../kernel/errors.ts";
import type { Given } from "../../kernel/ports.ts";
import type { AgentFact } from "../../app/api.ts";
import { withApi, withDryApi } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import { starter } from "../../app/identity.ts";
import { readLocal } from "../../app/local.ts";
import type { Invocation } from "../commands.ts";
import { withStore } from "../../app/look.ts";
import { gateLines, printRun } from "../print-run.ts";
import { withProgress } from "../progress.ts";
import { inputOf } from "../run-input.ts";

export async function run(at: Invocation, [agent]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const dir = findWorkspace(at.dir);
  const dry = options["dryRun"] === true;
  const key = options["key"] as string | undefined;
  const given = givenOf(options);
  const record = await (dry ? withDryApi : withApi)(dir, (api) =>
    withProgress(api, null, async () =>
      api.run({
        agent: String(agent),
        input: await inputOf((options["input"] ?? []) as string[], async () => fieldsOf(await api.agents({}), String(agent))),
        dry,
        wait: options["wait"] !== false,
        ...(key === undefined ? {} : { key }),
        ...(given === null ? {} : { given }),
        ...starter(dir, readLocal(dir).trust),
      }),
    ),
  );
  const exit = printRun(at.output, record, dir);
  if (!dry && record.status === "waiting" && (record.reason === "approval" || record.reason === "escalation"))
    for (const line of gateLines(await withStore(dir, (look) => look.show(record.id)))) at.output.line(line);
  return exit;
}

const fieldsOf = (agents: AgentFact[], agent: string) => agents.find(({ name }) => name === agent)?.header?.input ?? {};

// A document longer than this is no rules.
const POLICY_LIMIT = 262_144;

/** What the run is given beside its input. @throws FILE_MISSING, FILE_TOO_LARGE */
function givenOf(options: Record<string, unknown>): Given | null {
  const given: Given = {};
  if (options["readOnly"] === true) given.readOnly = true;
  if (typeof options["tools"] === "string") {
    if (!/^https?:$/.test(URL.parse(options["tools"])?.protocol ?? ""))
      throw new ClearedError("USAGE", `--tools takes the http or https address of a tool server, not "${options["tools"]}".`);
    // The address is kept with the run and shown.
    const { username, password } = new URL(options["tools"]);
    if (username !== "" || password !== "")
      throw new ClearedError("USAGE", "--tools takes no user name or password: name the server under mcp: in trust.yaml, with headers.");
    given.tools = options["tools"];
  }
  if (typeof options["policy"] === "string") given.policy = readPolicy(options["policy"]);
  return Object.keys(given).length === 0 ? null : given;
}

function readPolicy(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ClearedError("FILE_MISSING", `${file} cannot be read; --policy takes a file of JSON rules, or of prose.`, { cause });
  }
  if (text.length > POLICY_LIMIT)
    throw new ClearedError("FILE_TOO_LARGE", `${file} is longer than ${POLICY_LIMIT / 1024} KiB; a policy is a few pages.`);
  return text;
}
