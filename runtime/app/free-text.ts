/**
 * A task in words: which agent it is for, and what it says of that agent's input. Words and patterns first, which cost nothing and are the
 * same each time; then the small model, where one is there; what neither tells is asked. Surfaces that take free text call these.
 */
import { randomUUID } from "node:crypto";
import { ClearedError, didYouMean, onCode } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { callPrimitive, contextAlone, type Primitive } from "../kernel/primitive.ts";
import { groundOf, normalText } from "../rules/grounding.ts";
import { rankTasks } from "../rules/task-types.ts";
import { isObject } from "../rules/tools/shape.ts";
import { type InputField, mismatch } from "../scripts/fields.ts";
import type { Host } from "./host.ts";

/** Below it, a person is asked which one is meant. */
export const SURE = 0.6;

export interface TaskFor {
  /** Null: none of them, or not clear which; then `near` are to be offered. */
  agent: string | null;
  confidence: number;
  by: "metadata" | "words" | "model" | "nobody";
  near: string[];
}

/** Which agent a text is for. `agent`: what came with it says so. `model` false, here and below: by words alone. @throws AGENT_UNKNOWN for a name that none has, LLM_* */
export async function taskFor(host: Host, task: { text: string; agent?: string; model?: false; abort?: AbortSignal }): Promise<TaskFor> {
  const agents = (await host.agents()).flatMap(({ name, header }) => (header === null ? [] : [{ name, header }]));
  if (task.agent !== undefined) {
    const named = agents.find(({ name, header }) => name === task.agent || header.process === task.agent);
    if (named !== undefined) return { agent: named.name, confidence: 1, by: "metadata", near: [] };
    const names = agents.map(({ name }) => name);
    throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${task.agent.slice(0, 80)}".${didYouMean(task.agent, names)}`);
  }
  // What takes everything is what is left, and no candidate by its words.
  const known = agents.filter(({ header }) => header.process !== "general" && Object.keys(header.input).length > 0);
  const ranked = rankTasks(
    task.text,
    known.map(({ name, header }) => ({ name, process: header.process, words: `${header.name} ${header.description}` })),
  );
  const [first] = ranked;
  const near = ranked
    .filter(({ confidence }) => confidence > 0)
    .map(({ name }) => name)
    .slice(0, 3);
  if (first !== undefined && first.confidence >= SURE) return { agent: first.name, confidence: first.confidence, by: "words", near };
  const nobody: TaskFor = { agent: null, confidence: first?.confidence ?? 0, by: "nobody", near };
  if (known.length === 0 || task.model === false || !(await hasModel(host))) return nobody;
  const classes = known.map(({ name, header }) => ({ name, description: `${header.name}: ${header.description}`.slice(0, 300) }));
  const instruction = "The text is a task for a business. Say which process carries it out, or none.";
  const answer = (await ask(host, "llm_classify", { text: task.text, classes, instruction, samples: 3 }, task.abort)) as {
    class: string | null;
    agreement: number;
  };
  const sure = answer.class !== null && answer.agreement >= SURE;
  return {
    agent: sure ? answer.class : null,
    confidence: answer.agreement,
    by: "model",
    near: sure || answer.class === null ? near : [answer.class, ...near],
  };
}

export interface TaskInput {
  /** What the text says, as the agent takes it. */
  input: Record<string, Json>;
  /** What each field rests on: words of the text. */
  quotes: Record<string, string>;
  /** It says something that is required, such as the id of an invoice. */
  isNamed: boolean;
  /** Required, and not said: to be asked for. */
  missing: { field: string; type: InputField["type"]; about: string; options: Json[] | null }[];
  /** Fields for which a model named what the text does not have. */
  unsupported: string[];
}

const READABLE = ["string", "number", "integer", "boolean", "money", "date"];

/** What a text says of an agent's `input:`. @throws AGENT_UNKNOWN, LLM_* */
export async function inputOf(host: Host, task: { agent: string; text: string; model?: false; abort?: AbortSignal }): Promise<TaskInput> {
  const header = (await host.agents()).find(({ name }) => name === task.agent)?.header;
  if (header == null) throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${task.agent.slice(0, 80)}".`);
  const [input, quotes]: [Record<string, Json>, Record<string, string>] = [{}, {}];
  const fields = Object.entries(header.input);
  const examples = (field: string) => header.examples.flatMap((one) => (isObject(one) && one[field] !== undefined ? [one[field]] : []));
  for (const [field, one] of fields) {
    // By its name a field for the text itself: no model is asked what it says.
    const found =
      field === "task" && one.type === "string" ? { value: task.text, quote: task.text } : byPattern(task.text, one, examples(field));
    if (found === null || mismatch(found.value, one) !== null) continue;
    input[field] = found.value;
    quotes[field] = found.quote;
  }
  const open = fields.filter(([field, one]) => !Object.hasOwn(input, field) && READABLE.includes(one.type));
  let unsupported: string[] = [];
  if (open.length > 0 && task.model !== false && (await hasModel(host))) {
    const schema = Object.fromEntries(
      open.map(([field, { type, describe, enum: options }]) => {
        const shown = examples(field).slice(0, 2);
        const about = [describe, ...shown.map((one) => `such as ${JSON.stringify(one)}`)].filter(Boolean).join("; ");
        return [
          field,
          { type, ...(about === "" ? {} : { describe: about }), ...(options === undefined ? {} : { enum: options.map(String) }) },
        ];
      }),
    );
    const read = (await ask(host, "llm_extract", { text: task.text, schema: schema as Json }, task.abort)) as unknown as Extracted;
    for (const [field, one] of open) {
      const value = read.value[field] ?? null;
      const typed = one.enum?.find((option) => String(option) === value) ?? value;
      if (typed === null || mismatch(typed, one) !== null) continue;
      input[field] = typed;
      if (read.quotes[field] !== undefined) quotes[field] = read.quotes[field];
    }
    ({ unsupported } = read);
  }
  const missing = fields.flatMap(([field, one]) =>
    one.required === true && !Object.hasOwn(input, field)
      ? [{ field, type: one.type, about: one.describe ?? "", options: one.enum === undefined ? null : [...one.enum] }]
      : [],
  );
  const isNamed = fields.some(([field, one]) => one.required === true && field !== "task" && Object.hasOwn(input, field));
  return { input, quotes, isNamed, missing, unsupported };
}

type Extracted = { value: Record<string, Json>; quotes: Record<string, string>; unsupported: string[] };

/** What a field's type and examples find in the text, where it is one thing; null where there is none, or a choice. */
function byPattern(text: string, { type, enum: options }: InputField, examples: Json[]): { value: Json; quote: string } | null {
  const one = (found: string[]) => (new Set(found).size === 1 ? (found[0] ?? null) : null);
  const words = normalText(text);
  if (options !== undefined) {
    const named = options.filter(
      (option) => typeof option === "string" && ` ${words.replace(/[^\p{L}\p{N}_-]+/gu, " ")} `.includes(` ${option.toLowerCase()} `),
    );
    return named.length === 1 ? { value: named[0] as Json, quote: String(named[0]) } : null;
  }
  if (type === "date") {
    const day = one([...groundOf(text).dates]);
    return day === null ? null : { value: day, quote: day };
  }
  if (type === "money") {
    const amount = one(
      [...text.matchAll(/(?:[$€£]\s?|\b[A-Z]{3}\s)(\d[\d,]*(?:\.\d+)?)|(?<![\d.,-])(\d[\d,]*\.\d\d)(?![\d.-])/g)].map(([, a, b]) =>
        (a ?? b ?? "").replaceAll(",", ""),
      ),
    );
    return amount === null ? null : { value: amount, quote: amount };
  }
  if (type !== "string") return null;
  // An example in words is a field for the text itself.
  if (examples.some((example) => typeof example === "string" && example.trim().includes(" "))) return { value: text, quote: text };
  // INV-2024-447 stands for every id of that form; one without digits for nothing.
  const forms = examples.flatMap((example) =>
    typeof example === "string" && /\d/.test(example) && /^[\w.-]{2,40}$/.test(example) ? [example] : [],
  );
  const shapes = forms.map((example) => example.replace(/[.]/g, "\\.").replace(/\d+/g, "\\d+"));
  const id = one(shapes.flatMap((shape) => text.match(new RegExp(`(?<![\\w-])${shape}(?![\\w-])`, "g")) ?? []));
  return id === null ? null : { value: id, quote: id };
}

const hasModel = async (host: Host): Promise<boolean> => {
  const llm = host.models.llm(await host.config());
  const found = llm.modelOf({ role: "small" }).then(() => true);
  return found.catch(onCode("LLM_UNCONFIGURED", () => false));
};

/** A primitive outside a run, with its guards; its costs count for the task. */
async function ask(host: Host, name: string, params: Json, abort = AbortSignal.timeout(120_000)): Promise<Json> {
  const primitive: Primitive = await host.registry.get(name);
  const llm = { ...host.models.llm(await host.config()), decided: async () => ({ decided: 0, confirmed: 0 }), doubtful: () => null };
  const run = { id: `task_${randomUUID()}`, agent: "tasks", mode: "live" as const };
  return callPrimitive(primitive, params, contextAlone({ ports: { llm }, run, abort }));
}
