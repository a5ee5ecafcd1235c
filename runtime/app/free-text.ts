/**
 * A task in words: which agent it is for, and what it says about that agent's input. Words and patterns come first, because they are free and
 * deterministic; then the small model, if there is one; what remains open is asked. Called by every surface that accepts free text.
 */
import { randomUUID } from "node:crypto";
import { ClearedError, onCode } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { callPrimitive, contextAlone, type Primitive } from "../kernel/primitive.ts";
import { groundOf, normalText } from "../rules/grounding.ts";
import { rankTasks } from "../rules/task-types.ts";
import { isObject } from "../rules/tools/shape.ts";
import { type InputField, mismatch } from "../scripts/fields.ts";
import type { Host } from "./host.ts";

/** Below this confidence a person is asked which agent is meant. */
export const SURE = 0.6;

export interface TaskFor {
  /** Null: none, or ambiguous; then offer those in `near`. */
  agent: string | null;
  confidence: number;
  by: "words" | "model" | "nobody";
  near: string[];
}

/** Which agent a text is for. `model` false, here and below: by words alone. @throws LLM_* */
export async function taskFor(host: Host, task: { text: string; model?: false }): Promise<TaskFor> {
  const agents = (await host.agents()).flatMap(({ name, header }) => (header === null ? [] : [{ name, header }]));
  // The general agent is the fallback, not a candidate by its words.
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
  const answer = (await ask(host, "llm_classify", { text: task.text, classes, instruction, samples: 3 })) as {
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
  /** What the text says, in the agent's input format. */
  input: Record<string, Json>;
  /** It contains a required value, such as the id of an invoice. */
  isNamed: boolean;
  /** Required fields that are missing, to be asked for. */
  missing: string[];
}

const READABLE = ["string", "number", "integer", "boolean", "money", "date"];

/** What a text says about an agent's `input:`. @throws AGENT_UNKNOWN, LLM_* */
export async function inputOf(host: Host, task: { agent: string; text: string; model?: false }): Promise<TaskInput> {
  const header = (await host.agents()).find(({ name }) => name === task.agent)?.header;
  if (header == null) throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${task.agent.slice(0, 80)}".`);
  const input: TaskInput["input"] = {};
  const fields = Object.entries(header.input);
  const examples = (field: string) => header.examples.flatMap((one) => (isObject(one) && one[field] !== undefined ? [one[field]] : []));
  for (const [field, one] of fields) {
    // A field named `task` takes the text itself, without a model.
    const found = field === "task" && one.type === "string" ? task.text : byPattern(task.text, one, examples(field));
    if (found !== null && mismatch(found, one) === null) input[field] = found;
  }
  const open = fields.filter(([field, one]) => !Object.hasOwn(input, field) && READABLE.includes(one.type));
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
    const read = (await ask(host, "llm_extract", { text: task.text, schema: schema as Json })) as { value: Record<string, Json> };
    for (const [field, one] of open) {
      const value = read.value[field] ?? null;
      const typed = one.enum?.find((option) => String(option) === value) ?? value;
      if (typed !== null && mismatch(typed, one) === null) input[field] = typed;
    }
  }
  const required = fields.flatMap(([field, one]) => (one.required === true ? [field] : []));
  const isNamed = required.some((field) => field !== "task" && Object.hasOwn(input, field));
  return { input, isNamed, missing: required.filter((field) => !Object.hasOwn(input, field)) };
}

/** The only value in the text that matches a field's type and examples; null if there is none or several. */
function byPattern(text: string, { type, enum: options }: InputField, examples: Json[]): Json {
  const one = (found: string[]) => (new Set(found).size === 1 ? (found[0] ?? null) : null);
  const words = normalText(text);
  if (options !== undefined) {
    const named = options.filter(
      (option) => typeof option === "string" && ` ${words.replace(/[^\p{L}\p{N}_-]+/gu, " ")} `.includes(` ${option.toLowerCase()} `),
    );
    return named.length === 1 ? (named[0] as Json) : null;
  }
  if (type === "date") return one([...groundOf(text).dates]);
  if (type === "money") {
    const amounts = text.matchAll(/(?:[$€£]\s?|\b[A-Z]{3}\s)(\d[\d,]*(?:\.\d+)?)|(?<![\d.,-])(\d[\d,]*\.\d\d)(?![\d.-])/g);
    return one([...amounts].map(([, a, b]) => (a ?? b ?? "").replaceAll(",", "")));
  }
  if (type !== "string") return null;
  // An example of several words means a field for the text itself.
  if (examples.some((example) => typeof example === "string" && example.trim().includes(" "))) return text;
  // INV-2024-447 represents every id of that form; a word without digits represents nothing.
  const forms = examples.flatMap((example) =>
    typeof example === "string" && /\d/.test(example) && /^[\w.-]{2,40}$/.test(example) ? [example] : [],
  );
  const shapes = forms.map((example) => example.replace(/[.]/g, "\\.").replace(/\d+/g, "\\d+"));
  return one(shapes.flatMap((shape) => text.match(new RegExp(`(?<![\\w-])${shape}(?![\\w-])`, "g")) ?? []));
}

const hasModel = async (host: Host): Promise<boolean> => {
  const llm = host.models.llm(await host.config());
  const found = llm.modelOf({ role: "small" }).then(() => true);
  return found.catch(onCode("LLM_UNCONFIGURED", () => false));
};

/** Calls a primitive outside a run, with its guards; its costs count for the task. */
async function ask(host: Host, name: string, params: Json): Promise<Json> {
  const primitive: Primitive = await host.registry.get(name);
  const llm = { ...host.models.llm(await host.config()), decided: async () => ({ decided: 0, confirmed: 0 }), doubtful: () => null };
  const run = { id: `task_${randomUUID()}`, agent: "tasks", mode: "live" as const };
  return callPrimitive(primitive, params, contextAlone({ ports: { llm }, run, abort: AbortSignal.timeout(120_000) }));
}
