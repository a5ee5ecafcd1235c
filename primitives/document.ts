/** Business documents with required sections; the templates are runtime/rules/answers/documents.ts. */
import { z } from "zod";
import {
  approvalBrief,
  asText,
  type BusinessDocument,
  buildDocument,
  type DocumentType,
  formatDocument,
  spaced,
  TEMPLATES,
} from "../runtime/rules/answers/documents.ts";
import { assertWhole } from "../runtime/rules/answers/required.ts";
import { ClearedError } from "../runtime/kernel/errors.ts";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { OF_RUN, currency, json, money, record, text } from "./_shapes.ts";

const type = z.enum(Object.keys(TEMPLATES) as [DocumentType, ...DocumentType[]]);
const document = z
  .object({
    type,
    created_at: z.string().describe("ISO, UTC"),
    metadata: record,
    sections: record.describe("the required ones in their order, then the others"),
    complete: z.boolean(),
    missing: z.array(z.string()).describe("required sections that were not given"),
  })
  .meta({ name: "BusinessDocument" });
const lines = z.array(text).default([]);

export const document_build = definePrimitive({
  name: "document_build",
  ...OF_RUN,
  summary: "A document of a type with required sections; missing ones are listed and marked.",
  params: z.object({
    type: type.describe("which sections it must have"),
    sections: record.describe("section -> text, list or object; sections that are not required come last"),
    metadata: record.optional().describe("lines under the title"),
  }),
  returns: document,
  errors: ["LLM_UNSUPPORTED"],
  example: `document_build({ type: "prd", sections: { problem_statement: "Refunds take six days." } })`,
  run(p, ctx) {
    const doubtful = ctx.ports.llm.doubtful(JSON.stringify(p));
    if (doubtful !== null)
      throw new ClearedError("LLM_UNSUPPORTED", `document_build: the text "${doubtful}..." has figures that its model was not given.`);
    return buildDocument(p.type, p.sections, p.metadata ?? {}, ctx.now);
  },
});

export const document_format = definePrimitive({
  name: "document_format",
  effect: "pure",
  access: "context",
  summary: "A document as markdown.",
  params: z.object({
    document: z.object({ type, created_at: z.string(), metadata: record, sections: record }).describe("as document_build returns it"),
  }),
  returns: z.string(),
  example: `document_format({ document: { type: "prd", created_at: "2026-11-06T12:00:00Z", metadata: {}, sections: { goal: "Faster refunds" } } })`,
  run: (p) => formatDocument(p.document),
});

export const document_approval_brief = definePrimitive({
  name: "document_approval_brief",
  ...OF_RUN,
  summary: "What an approver must know: request, actions, policy, risk, decision. A gate creates one automatically.",
  params: z.object({
    process: text.describe("such as invoice_reconciliation"),
    title: text.describe("what is asked for"),
    actions: z.array(z.union([text, z.object({ tool: text, params: json })])).describe("calls, or descriptions"),
    verdict: z
      .object({
        passed: z.boolean(),
        summary: z.string(),
        triggered: z.array(z.object({ rule: z.string(), action: z.string(), level: z.string().nullable(), description: z.string() })),
        indeterminate: z.array(z.object({ rule: z.string(), missing: z.array(z.string()) })),
      })
      .optional()
      .describe("as policy_evaluate returns it; without it the brief says NOT EVALUATED"),
    level: text.optional().describe("who must approve"),
    risk: z.enum(["low", "medium", "high", "critical"]).optional(),
    amounts: z.record(z.string(), money).default({}).describe("name -> amount"),
    currency: currency.default("USD"),
    approver: text.default("").describe("who is asked"),
  }),
  returns: document,
  example: `document_approval_brief({ process: "procurement", title: "Buy ten laptops", actions: ["order from Acme"], amounts: { total: "12500.00" } })`,
  run: ({ actions, verdict, level, approver, ...p }, ctx) =>
    approvalBrief({ ...p, calls: actions, verdict: verdict ?? null, level: level ?? null, by: approver, at: ctx.now }),
});

const incident = z.object({
  incident_id: text,
  summary: text,
  timeline: z.array(z.object({ time: text, event: text })),
  root_cause: text,
  contributing_factors: lines,
  impact: record.describe("name -> value"),
  action_items: z.array(
    z.object({ action: text, owner: text.optional().describe("TBD without"), effort: text.optional(), impact: text.optional() }),
  ),
});

const BLAMELESS =
  "This review looks for causes in systems and procedures. Everybody is taken to have acted with the best intentions on what they knew at the time.";

function postMortem(given: z.output<typeof incident>, at: number): BusinessDocument {
  const sections = {
    incident_summary: given.summary,
    timeline: given.timeline.map(({ time, event }) => `${time}: ${event}`),
    root_cause: given.root_cause,
    contributing_factors: given.contributing_factors,
    impact: Object.entries(given.impact).map(([name, value]) => `${spaced(name)}: ${asText(value)}`),
    action_items: given.action_items.map(
      ({ action, owner = "TBD", effort = "?", impact = "?" }) => `${action} (owner: ${owner}, effort: ${effort}, impact: ${impact})`,
    ),
    blameless_note: BLAMELESS,
  };
  return buildDocument("post_mortem", sections, { incident_id: given.incident_id }, at);
}

export const document_post_mortem = definePrimitive({
  name: "document_post_mortem",
  ...OF_RUN,
  summary: "A blameless review of an incident.",
  params: incident,
  returns: document,
  example: `document_post_mortem({ incident_id: "INC-1", summary: "Checkout was down.", timeline: [{ time: "09:00", event: "alarm" }], root_cause: "A full disk.", impact: { users: 5 }, action_items: [{ action: "alert at 80 %" }] })`,
  run: (p, ctx) => postMortem(p, ctx.now),
});

const sprint = z.object({
  sprint: z.number().int(),
  goal: text,
  stories: z.array(
    z.object({
      id: text,
      title: text,
      points: z.number().nonnegative(),
      assignee: text.optional().describe("unassigned without"),
      depends_on: lines,
    }),
  ),
  capacity: z.object({ total: z.number().nonnegative(), by_person: z.record(z.string(), z.number()).default({}) }).describe("points"),
  dependencies: lines,
  risks: lines,
  carryover: lines,
});

/** Metadata: `allocated_points`, and `over_capacity` with the names of everything over its capacity, if any. */
function sprintPlan(plan: z.output<typeof sprint>, at: number): BusinessDocument {
  const sum = (stories: (typeof plan)["stories"]): number => Math.round(stories.reduce((all, one) => all + one.points * 100, 0)) / 100;
  const allocated = sum(plan.stories);
  const people = [...new Set([...Object.keys(plan.capacity.by_person), ...plan.stories.flatMap((one) => one.assignee ?? [])])].map(
    (name) => ({
      name,
      points: sum(plan.stories.filter((one) => one.assignee === name)),
      of: Object.hasOwn(plan.capacity.by_person, name) ? (plan.capacity.by_person[name] ?? 0) : null,
    }),
  );
  const over = [{ name: "Sprint", points: allocated, of: plan.capacity.total }, ...people].filter(
    (one) => one.of !== null && one.points > one.of,
  );
  const sections = {
    sprint_goal: plan.goal,
    capacity_summary: [
      `Allocated: ${allocated} of ${plan.capacity.total} points`,
      ...people.map((one) => `${one.name}: ${one.points}${one.of === null ? " points, no capacity given" : ` of ${one.of} points`}`),
      ...over.map((one) => `OVER CAPACITY: ${one.name}, ${one.points} of ${one.of} points`),
    ],
    stories: plan.stories.map((one) => `${one.id}: ${one.title} (${one.points} points, ${one.assignee ?? "unassigned"})`),
    dependencies: [
      ...plan.dependencies,
      ...plan.stories.filter((one) => one.depends_on.length > 0).map((one) => `${one.id} depends on ${one.depends_on.join(", ")}`),
    ],
    risks: plan.risks,
    carryover: plan.carryover,
  };
  const metadata = {
    sprint: plan.sprint,
    allocated_points: allocated,
    ...(over.length === 0 ? {} : { over_capacity: over.map((one) => one.name) }),
  };
  return buildDocument("sprint_plan", sections, metadata, at);
}

export const document_sprint_plan = definePrimitive({
  name: "document_sprint_plan",
  ...OF_RUN,
  summary: "A sprint's stories against its capacity; whoever is over capacity is named.",
  params: sprint,
  returns: document,
  example: `document_sprint_plan({ sprint: 3, goal: "Refunds in a day", stories: [{ id: "S1", title: "Queue", points: 5 }], capacity: { total: 10 } })`,
  run: (p, ctx) => sprintPlan(p, ctx.now),
});

export const document_check = definePrimitive({
  name: "document_check",
  ...OF_RUN,
  summary: "Check an answer as the end of the run will: it has the fields its process needs, and its sums are right.",
  params: z.object({ answer: record.describe("what the script's last expression will be") }),
  returns: z.null(),
  errors: ["OUTPUT_INCOMPLETE"],
  example: `document_check({ answer: { summary: "INV-7 is paid", decision_or_status: "paid", action_taken: "read", key_entity: "INV-7" } })`,
  run(p, ctx) {
    assertWhole(p.answer, { process: ctx.run.process ?? null, output: {}, sums: ctx.process !== null });
    return null;
  },
});
