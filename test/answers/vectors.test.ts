/** Every vector of documents, answers and lists, and the recommended result where the original was wrong. */
import { expect, it } from "vitest";
import {
  document_approval_brief,
  document_build,
  document_format,
  document_post_mortem,
  document_sprint_plan,
} from "../../primitives/document.ts";
import { type DocumentType, TEMPLATES } from "../../runtime/rules/answers/documents.ts";
import { asksForList, bracketAnswer } from "../../runtime/rules/answers/ranked.ts";
import { missingFields } from "../../runtime/rules/answers/required.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { callPrimitive, type Primitive } from "../../runtime/kernel/primitive.ts";
import { memory } from "../primitives/memory-ports.ts";
import { refusedBy, vectors, wrongRows } from "../vectors/load.ts";

/** The arguments the vectors use, by name. */
interface Args {
  doc_type: DocumentType;
  data: Json;
  metadata: Json;
  doc: Json;
  process_type: string;
  proposed_actions: string[];
  triggered: string[] | null;
  risk_level: string;
  approver: string | null;
  amounts: Record<string, number> | null;
  sprint_num: number;
  answer: string;
  text: string;
  items: string[];
  task: string;
  task_text: string;
  policy_result: { passed: boolean; summary: string } | null;
}

const call = (primitive: Primitive, params: object): Promise<Json> => callPrimitive(primitive, params as Json, memory().ctx);
const markdown = async (primitive: Primitive, params: object): Promise<string> =>
  String(await call(document_format, { document: await call(primitive, params) }));

function shape(text: string): Json {
  const headings = [...text.matchAll(/^### (.+)$/gm)].map((match) => match[1] ?? "");
  const story = text.match(/Allocated: ([\d.]+) of/)?.[1];
  return { headings, text, ...(story === undefined ? {} : { total_points: Number(story) }), ok: true };
}

const verdictOf = (triggered: string[] | null): object =>
  triggered === null
    ? {}
    : {
        verdict: {
          passed: triggered.length === 0,
          summary: "",
          triggered: triggered.map((rule) => ({ rule, action: "require_approval", level: null, description: "" })),
          indeterminate: [],
        },
      };

/** Not built: 17.2 (R) drops is_refusal; scripts answer with typed objects and lists, so no text is read for fields or for items. */
const NOT_BUILT = ["is_refusal", "validate_output", "extract_ranked_items", "format_final_answer"];

/** What ours answers to the arguments of a vector. */
const OURS: Record<string, (args: Args) => unknown> = {
  schema: ({ doc_type }) => TEMPLATES[doc_type],
  build_document: ({ doc_type, data, metadata }) => call(document_build, { type: doc_type, sections: data, metadata: metadata ?? {} }),
  format_document: ({ doc }) => call(document_format, { document: doc }),
  "approval_brief#shape": async (args) => {
    const { process_type, proposed_actions, triggered, risk_level, approver, amounts } = args;
    const money = Object.fromEntries(Object.entries(amounts ?? {}).map(([name, value]) => [name, String(value)]));
    const given = { process: process_type, title: "request", actions: proposed_actions, risk: risk_level, amounts: money };
    return shape(await markdown(document_approval_brief, { ...given, approver: approver ?? "", ...verdictOf(triggered) }));
  },
  "post_mortem#shape": async (args) => shape(await markdown(document_post_mortem, args)),
  "sprint_plan#shape": async ({ sprint_num, ...rest }) => shape(await markdown(document_sprint_plan, { sprint: sprint_num, ...rest })),
  required_fields: ({ process_type }) => missingFields(process_type, {}, null).map((one) => one.split(" ")[0]),
  enforce_bracket_format: ({ items }) => JSON.parse(bracketAnswer(items)) as Json,
  is_list_task: ({ task }) => asksForList(task),
};

it.each(["document_generator.json", "output_validator.json", "structured_output.json"])(
  "gives the expected value for each of %s",
  async (file) => {
    const all = vectors(file).filter((one) => !NOT_BUILT.includes(one.function));
    for (const [index, vector] of all.entries()) {
      const where = `${file}[${index}] ${JSON.stringify(vector.args)}`;
      const ours = async (): Promise<unknown> => OURS[vector.function]?.(vector.args as unknown as Args);
      const exception = refusedBy(file, vector);
      if (exception !== undefined) {
        await expect(ours(), where).rejects.toSatisfy((error) => error instanceof ClearedError && error.code === exception.code);
        continue;
      }
      const { must_contain = [], ...expected } = vector.expected as { must_contain?: string[] };
      const found = (await ours()) as { text: string };
      for (const part of must_contain) expect(found.text, where).toContain(part);
      if (typeof vector.expected === "object" && !Array.isArray(vector.expected)) expect(found, where).toMatchObject(expected);
      else expect(found, where).toEqual(vector.expected);
    }
    expect(all.length).toBeGreaterThan(0);
  },
);

it("reports that no policy was evaluated where the original reported a pass", async () => {
  for (const { args, recommended } of wrongRows("document_generator.json")) {
    expect(await OURS["approval_brief#shape"]?.(args as unknown as Args)).toMatchObject({
      text: expect.stringContaining(String(recommended)),
    });
  }
});

it("does not take a noun for a request", () => {
  for (const { function: name, args, recommended } of wrongRows("structured_output.json")) {
    if (name === "is_list_task") expect(asksForList(String(args["task"])), JSON.stringify(args)).toBe(recommended);
  }
});
