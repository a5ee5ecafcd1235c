/**
 * What may leave this machine in a request: no stored secret, nothing that is masked everywhere (rules/privacy), and of the other groups only
 * those that the model's entry in trust.yaml allows. Equal text always gives equal text, so that a conversation stays consistent.
 */
import type { Json, LlmMessage, LlmPart, LlmRequest } from "../kernel/ports.ts";
import { GROUPS, type Group } from "../rules/privacy/patterns.ts";
import { redact, redactJson } from "../rules/privacy/scan.ts";
import { mapScalars } from "../rules/tools/shape.ts";

export type Outgoing = Pick<LlmRequest, "system" | "messages"> & { tools: NonNullable<LlmRequest["tools"]>; schema: Json | null };

/** @param secrets the values of all stored secrets */
export function outgoing(
  { system, messages, tools = [], schema = null }: Pick<LlmRequest, "system" | "messages" | "tools" | "schema">,
  sends: readonly Group[],
  secrets: readonly string[],
): Outgoing {
  const withheld = new Set(GROUPS.filter((group) => !sends.includes(group)));
  const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
  // A record contains JSON, and a tool's result contains records. Longest first: one value may contain another.
  const values = [...new Set(secrets.flatMap((one) => [one, escaped(one), escaped(escaped(one))]))].sort((a, b) => b.length - a.length);
  const without = (text: string) => values.reduce((left, value) => left.replaceAll(value, "[SECRET]"), text);
  const clean = (text: string) => {
    const shown = redact(without(text), withheld);
    // Keys of JSON inside JSON are in escaped quotes.
    const plain = shown.includes('\\"') ? shown.replace(/\\+"/g, '"') : shown;
    const seen = redact(plain, withheld);
    return seen === plain ? shown : seen;
  };
  const cleanJson = (value: Json): Json => texts(redactJson(texts(value, without), withheld), clean);
  const part = (one: LlmPart): LlmPart => {
    if (one.type === "text" || one.type === "tool_result") return { ...one, text: clean(one.text) };
    return one.type === "tool_call" ? { ...one, params: cleanJson(one.params) } : one;
  };
  const message = ({ role, content }: LlmMessage): LlmMessage => ({
    role,
    content: typeof content === "string" ? clean(content) : content.map(part),
  });
  return {
    system: clean(system),
    messages: messages.map(message),
    tools: tools.map((tool) => ({ name: tool.name, description: clean(tool.description), schema: cleanJson(tool.schema) })),
    schema: schema === null ? null : cleanJson(schema),
  };
}

const texts = (value: Json, change: (text: string) => string): Json =>
  mapScalars(value, (one) => (typeof one === "string" ? change(one) : one), change);
