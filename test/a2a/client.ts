/** A client of A2A that is only HTTP: what it sends and gets is what stands on the wire. */
import { type Started, cleared, commit, start, workspace } from "../cli/command-line.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a server answers is looked at by the test, not typed
export type Any = any;

const ECHO = `/*
name: Echo
description: Say a text again
trigger: a2a
mutates: false
uses: [ctx]
input:
  task: {type: string, required: true}
*/
const { task } = input;
task.startsWith("list ") ? task.slice(5).split(" ") : { summary: "said " + task, words: task.split(" ").length };
`;
const PAY = `/*
name: Pay
description: Ask whether a bill is paid
trigger: a2a
uses: [approval]
input:
  bill_id: {type: string, required: true}
examples:
  - {bill_id: BILL-001}
*/
const { bill_id } = input;
const { by } = approval_wait({ title: "Pay " + bill_id + "?", calls: [{ tool: "bank_pay", params: { bill: bill_id, amount: "120.00" } }] });
({ summary: bill_id + " approved by " + by, bill_id });
`;
const BROKEN = `/*
name: Broken
trigger: a2a
*/
const rows: { name: string }[] = [];
rows[3].name;
`;
const HIDDEN = "/*\nname: Hidden\n*/\n1;\n";

export const AGENTS = { "agents/echo.ts": ECHO, "agents/pay.ts": PAY, "agents/broken.ts": BROKEN, "agents/hidden.ts": HIDDEN };

export interface Served {
  dir: string;
  url: string;
  started: Started;
}

/** A workspace with nothing but these agents, served by a process of its own. */
export async function serve(more: Record<string, string> = {}): Promise<Served> {
  const dir = await workspace();
  await cleared(dir, "add"); // what `add` lists is not there: the agents below are all that take tasks
  await commit(dir, { ...AGENTS, ...more });
  return again(dir);
}

export async function again(dir: string): Promise<Served> {
  const started = await start(dir, "--no-open", "--port", "0");
  return { dir, url: /http:\/\/127\.0\.0\.1:\d+/.exec(started.said())?.[0] ?? "", started };
}

export interface Options {
  version?: string;
  token?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const headersOf = ({ version, token, headers }: Options): Record<string, string> => ({
  ...(version === undefined ? {} : { "A2A-Version": version }),
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  ...headers,
});

/** One JSON-RPC request; answers the whole envelope. */
export async function rpc({ url }: Served, method: string, params: Any, options: Options = {}): Promise<Any> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method, params });
  const answer = await fetch(`${url}/`, { method: "POST", body, headers: headersOf(options) });
  return answer.json();
}

/** The events of a stream as they come; `signal` cuts it. */
export async function* stream({ url }: Served, method: string, params: Any, options: Options = {}): AsyncGenerator<Any> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method, params });
  const { signal } = options;
  const answer = await fetch(`${url}/`, { method: "POST", body, headers: headersOf(options), ...(signal ? { signal } : {}) });
  let text = "";
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const data = text.slice(0, end).replace(/^: .*\n/gm, "");
      text = text.slice(end + 2);
      yield JSON.parse(data.replace(/^data: /, "")).result;
    }
  }
}

let made = 0;
export const messageId = (): string => `m${++made}-${crypto.randomUUID()}`;
export const said = (text: string, more: Any = {}): Any => ({
  messageId: messageId(),
  role: "user",
  parts: [{ kind: "text", text }],
  ...more,
});
export const said1 = (text: string, more: Any = {}): Any => ({ messageId: messageId(), role: "ROLE_USER", parts: [{ text }], ...more });
export const skill = (name: string): Any => ({ metadata: { skill: name } });
