/**
 * Turns a caller's message into an agent and its input: explicit names first, then JSON sent as text, then what the words say (free-text.ts),
 * if that is clear. What is missing is asked for. Everything a caller writes is untrusted and only data.
 */
import { ClearedError, amongThese, toWire, unlessInternal } from "../kernel/errors.ts";
import type { Given, Json } from "../kernel/ports.ts";
import { type InputField, mismatch, validateInput } from "../scripts/fields.ts";
import type { Header } from "../scripts/header.ts";
import { jsonOf } from "../kernel/text.ts";
import { SURE, inputOf, taskFor } from "./free-text.ts";
import { isAssent } from "../rules/session-words.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";
import type { Host } from "./host.ts";
import type { Said, TaskPart } from "../engine/store/tasks.ts";

export interface Offer {
  name: string;
  header: Header;
}

/** What is known about a task before its run starts; stored with it while its caller is asked. */
export interface Draft {
  agent?: string;
  input: Fields;
  /** All text of its messages. */
  text: string;
  given: Given;
  /** The only field that was asked for: plain text is its value. */
  asked?: string;
}

export type Intake = { draft: Draft; continued?: { run: string; fields: Draft["input"] } } & (
  | { start: { agent: string; input: Json } }
  | { ask: TaskPart[] }
);

/** What the caller did not repeat, and is told about. */
export function goesOn(agent: string, { run, fields }: NonNullable<Intake["continued"]>): Said {
  const said = Object.entries(fields).map(([key, value]) => `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return { state: "working", parts: [{ text: `${agent} continues from ${run} of this session: ${said.join(", ")}.` }] };
}

export const EMPTY: Draft = { input: {}, text: "", given: {} };

const GIVEN = ["policy_doc", "tools_endpoint", "input"];
const NAMES = ["skill", "skillId", "skill_id", "agent", "process"];
const POLICY_LIMIT = 262_144; // as for `run --policy`
const LONGEST_READ = 65_536; // of a longer text the caller is asked what it is about

/** Size of a message in characters and values; `most` characters are used; `digest` covers all of it. */
export interface Large {
  size: number;
  count: number;
  most: number;
  digest: string;
}

/** Nothing is done of which only the beginning was read. */
export function tooLarge({ size, count, most }: Large): Said {
  const taken = `At most ${most} characters in ${most / 64} values are taken (config.yaml callers.message_kb).`;
  const text = `The message has ${size} characters in ${count} values: only its beginning was read, and nothing was started. ${taken} Send what the task needs.`;
  return { state: "input-required", parts: [{ text }, { data: { size, count, most } }] };
}

/** The part of the metadata that belongs to the request: the same text for another agent or under other rules is another message. */
export function askedBy(metadata: Fields): Json {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => NAMES.includes(key) || GIVEN.includes(key)));
}

/** The agent that a message names, or null; a named agent starts a process of its own. */
export function namedIn(parts: readonly TaskPart[], metadata: Json): string | null {
  const said = [metadata, ...parts.map((part) => ("data" in part ? part.data : jsonIn(part.text)))];
  for (const one of said) for (const key of NAMES) if (isObject(one) && typeof one[key] === "string") return one[key];
  return null;
}

/** An earlier run of the same session, which is continued if the text does not say otherwise. */
export interface Earlier {
  run: string;
  agent: string;
  input: Fields;
}

/** The agent that clearly matches a text and finds its whole input in it, by words alone; else null. */
export async function clearlyFor(host: Host, text: string, offers: readonly Offer[]): Promise<Offer | null> {
  if (text === "" || text.length > LONGEST_READ) return null;
  const found = await taskFor(host, { text, model: false });
  const offer = offers.find(({ name }) => name === found.agent);
  if (offer === undefined) return null;
  const said = await inputOf(host, { agent: offer.name, text, model: false });
  return said.missing.length === 0 && Object.keys(said.input).length > 0 ? offer : null;
}

/**
 * The agent for a text; among several candidates the one whose whole input is there, or the only one with a named value, then one used earlier
 * in this session. Null if that is not clear.
 */
async function agentFor(host: Host, text: string, earlier: readonly Earlier[]): Promise<string | null> {
  const found = await taskFor(host, { text }).catch(unread);
  if (found !== null && found.by !== "nobody" && found.agent !== null) return found.agent;
  const [fits, named]: [string[], string[]] = [[], []];
  for (const agent of found?.near ?? []) {
    const said = await inputOf(host, { agent, text }).catch(unread);
    if (said?.missing.length === 0 && Object.keys(said.input).length > 0) fits.push(agent);
    if (said?.isNamed === true) named.push(agent);
  }
  // A mere "yes" asks for nothing and starts nothing again.
  if (fits.length > 1 || (fits.length === 0 && isAssent(text))) return null;
  const [only] = fits.length === 1 || named.length !== 1 ? fits : named;
  if (only !== undefined) return only;
  const about = ({ agent, input }: Earlier) =>
    found?.near.includes(agent) === true || Object.values(input).some((one) => typeof one === "string" && isNamed(one, text));
  const before = earlier.find(about)?.agent;
  if (before !== undefined || found?.agent !== null || found.by !== "model" || found.confidence < SURE) return before ?? null;
  // The model says that it is for none of them: the general agent looks at what can be done.
  return (await host.agents()).find(({ header }) => header?.process === "general")?.name ?? null;
}

/** An id such as E-2291. */
const isNamed = (value: string, text: string): boolean => /^(?=.*\d)[\w.-]{4,40}$/.test(value) && text.split(/[^\w.-]+/).includes(value);

/** If a model does not answer or may not be asked, the caller is asked instead. */
const unread = unlessInternal(() => null);

/** @throws TASK_REQUEST for an agent that is not offered, or an invalid policy or address */
export async function takeIn(
  before: Draft,
  parts: readonly TaskPart[],
  metadata: Json,
  offers: readonly Offer[],
  host: Host,
  earlier: readonly Earlier[] = [],
): Promise<Intake> {
  const draft: Draft = { ...before, input: { ...before.input }, given: { ...before.given } };
  const words: string[] = [];
  const named = namedIn(parts, metadata);
  readGiven(draft.given, metadata);
  for (const part of parts) {
    const value = "data" in part ? part.data : jsonIn(part.text);
    if (isObject(value)) takeFields(draft, value);
    else words.push("data" in part ? JSON.stringify(part.data) : part.text);
  }
  await assertAllowed(host, "tools_endpoint", draft.given.tools);
  if (isObject(metadata) && isObject(metadata["input"])) Object.assign(draft.input, metadata["input"]);
  const text = words.join("\n").trim();
  const told = nameIn(text, offers);
  const begun = offers.find((one) => one.name === before.agent)?.name; // deleted since, or no longer allowed
  if (text !== "" && (told === null || begun !== undefined)) draft.text = before.text === "" ? text : `${before.text}\n${text}`;
  const readable = draft.text !== "" && draft.text.length <= LONGEST_READ;
  const only = offers.length === 1 && before.agent === undefined ? offers[0]?.name : undefined;
  const wanted = named ?? begun ?? told ?? only ?? (readable ? await agentFor(host, draft.text, earlier) : null);
  const offer = offers.find((one) => one.name === wanted);
  const names = offers.map((one) => one.name);
  if (named !== null && offer === undefined) throw request(`There is no skill "${named.slice(0, 80)}".${amongThese(named, names)}`);
  if (offers.length === 0) throw request("No agent here takes tasks. Its owner adds one, as `cleared add general` does.");
  if (offer === undefined) return { draft, ask: whichSkill(offers) };
  draft.agent = offer.name;
  const said = readable ? await inputOf(host, { agent: offer.name, text: draft.text }).catch(unread) : null;
  fill(draft, offer.header, text, said?.input ?? {}, before.asked);
  const continued = goOn(draft, offer, earlier);
  const intake = completed(draft, offer);
  if (continued !== null) intake.continued = continued;
  return intake;
}

/** Text without any field of the process refers to its earlier input; the caller is told, so that a mistake shows. */
function goOn(draft: Draft, { name, header }: Offer, earlier: readonly Earlier[]): NonNullable<Intake["continued"]> | null {
  const needed = Object.entries(header.input).flatMap(([key, one]) => (one.required === true ? [key] : []));
  const before = earlier.find(({ agent }) => agent === name);
  if (before === undefined || needed.length === 0 || needed.some((key) => Object.hasOwn(draft.input, key))) return null;
  const fields = Object.fromEntries(needed.flatMap((key) => (Object.hasOwn(before.input, key) ? [[key, before.input[key] ?? null]] : [])));
  if (Object.keys(fields).length === 0) return null;
  Object.assign(draft.input, fields);
  return { run: before.run, fields };
}

function completed(draft: Draft, { name, header }: Offer): Intake {
  const missing = Object.entries(header.input).filter(([key, one]) => one.required === true && !Object.hasOwn(draft.input, key));
  delete draft.asked;
  if (missing.length > 0) {
    const [only] = missing;
    if (missing.length === 1 && only !== undefined) draft.asked = only[0];
    return { draft, ask: whichFields(name, missing) };
  }
  try {
    return { draft, start: { agent: name, input: validateInput(header, draft.input) } };
  } catch (error) {
    const { code, message } = toWire(error);
    if (code !== "RUN_INPUT") throw error;
    // Invalid fields are given again; valid ones stay.
    const input = Object.entries(draft.input).filter(([key, value]) => {
      const one = Object.hasOwn(header.input, key) ? header.input[key] : undefined;
      return one !== undefined && mismatch(value, one) === null;
    });
    const fields = Object.entries(header.input);
    return {
      draft: { ...draft, input: Object.fromEntries(input) },
      ask: [{ text: `${message} Send it again as data.` }, form(name, fields)],
    };
  }
}

/** Fields of an object: `{skill, input}`, or the input's own fields. */
function takeFields(draft: Draft, value: Fields): void {
  readGiven(draft.given, value);
  const { input, policy_doc: _, tools_endpoint: __, session_id: ___, ...rest } = value;
  const own = Object.fromEntries(Object.entries(rest).filter(([key, one]) => !(NAMES.includes(key) && typeof one === "string")));
  if (isObject(input)) Object.assign(draft.input, input);
  else Object.assign(draft.input, input === undefined ? own : { ...own, input });
}

/** Fields from text: the task itself, values found in it, the answer to the only question. */
function fill(draft: Draft, header: Header, text: string, said: Draft["input"], asked: string | undefined): void {
  const { input } = draft;
  const open = (key: string, one: InputField | undefined): one is InputField => one !== undefined && !Object.hasOwn(input, key);
  if (draft.text !== "" && open("task", header.input["task"])) input["task"] = draft.text;
  for (const [key, value] of Object.entries(said)) if (open(key, header.input[key])) input[key] = value;
  const one = asked === undefined ? undefined : header.input[asked];
  if (asked === undefined || !open(asked, one) || text === "" || text.length > 200) return;
  const json = jsonOf(text);
  const value = json !== undefined && mismatch(json, one) === null ? json : text;
  if (mismatch(value, one) === null) input[asked] = value;
}

/** `policy_doc` and `tools_endpoint`, in text or as JSON. @throws TASK_REQUEST */
function readGiven(given: Given, from: Json): void {
  if (!isObject(from)) return;
  const { policy_doc: policy, tools_endpoint: tools } = from;
  if (policy != null && policy !== "") {
    const text = typeof policy === "string" ? policy : JSON.stringify(policy);
    if (text.length > POLICY_LIMIT) throw request(`policy_doc is longer than ${POLICY_LIMIT / 1024} KiB; a policy is a few pages.`);
    given.policy = text;
  }
  if (tools != null && tools !== "") {
    const url = typeof tools === "string" ? URL.parse(tools) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
      throw request("tools_endpoint is the http or https address of a tool server, without user name and password.");
    given.tools = url.href;
  }
}

/** A text that is only the name of an agent, regardless of spacing. */
function nameIn(text: string, offers: readonly Offer[]): string | null {
  const plain = text.toLowerCase().replace(/[.\s_-]+/g, "_");
  return offers.find(({ name, header }) => plain === name || plain === header.name.toLowerCase().replace(/[.\s_-]+/g, "_"))?.name ?? null;
}

function whichSkill(offers: readonly Offer[]): TaskPart[] {
  const skills = offers.map(({ name, header }) => ({ id: name, name: header.name, description: header.description }));
  const text = offers.map(({ name, header }) => `- ${name}: ${header.description}`).join("\n");
  return [
    { text: `Which skill is this for? Answer with its name, or send metadata.skill.\n${text}` },
    { data: { missing: ["skill"], skills } },
  ];
}

function whichFields(agent: string, missing: [string, InputField][]): TaskPart[] {
  const said = missing.map(([key, one]) => `- ${key} (${one.type}${one.describe === undefined ? "" : `: ${one.describe}`})`).join("\n");
  const how = missing.length === 1 ? "Answer with it, or with data" : "Answer with data";
  const example = JSON.stringify(Object.fromEntries(missing.map(([key]) => [key, "..."])));
  return [{ text: `${agent} needs:\n${said}\n${how} such as ${example}.` }, form(agent, missing)];
}

/** In the format of a header's `input:`, so that a program can answer. */
function form(agent: string, fields: [string, InputField][]): TaskPart {
  return { data: { skill: agent, missing: fields.map(([key]) => key), fields: Object.fromEntries(fields) as unknown as Json } };
}

/** A JSON object sent as text. */
function jsonIn(text: string): Json {
  const value = /^\s*\{/.test(text) ? jsonOf(text) : undefined;
  return value !== undefined && isObject(value) ? value : null;
}

/** Checks an address named by a caller before anything is started for it. @throws TASK_REQUEST */
export async function assertAllowed({ trust }: Pick<Host, "trust">, name: string, url: string | undefined): Promise<void> {
  if (url === undefined) return;
  const { assertMayReach } = await import("../outside/mcp/addresses.ts");
  await assertMayReach(url, trust.addresses).catch((error: Error) => {
    throw request(`${name} cannot be used: ${error.message}`);
  });
}

/** -32602 of JSON-RPC. */
const request = (message: string) => new ClearedError("TASK_REQUEST", message, { data: { rpc: -32602 } });
