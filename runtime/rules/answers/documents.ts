/**
 * Business documents with required sections (spec/worker.md 19). Pure: the time is handed in. A section that is missing is named, never
 * invented; what was not evaluated says so.
 */
import type { Call, Json, Verdict } from "../../kernel/ports.ts";

/** Required sections, in order. */
export const TEMPLATES = {
  prd: ["problem_statement", "user_stories", "acceptance_criteria", "technical_constraints", "success_metrics", "open_questions"],
  post_mortem: ["incident_summary", "timeline", "root_cause", "contributing_factors", "impact", "action_items", "blameless_note"],
  approval_brief: ["request_summary", "proposed_actions", "policy_compliance", "risk_assessment", "approver_decision"],
  sprint_plan: ["sprint_goal", "capacity_summary", "stories", "dependencies", "risks", "carryover"],
  ar_report: ["aging_summary", "by_customer", "recommended_actions", "revenue_impact", "write_offs"],
  compliance_report: ["audit_scope", "findings", "gap_analysis", "remediation_plan", "deadline_summary"],
  incident_rca: [
    ...["incident_summary", "timeline", "root_cause", "contributing_factors"],
    ...["remediation_options", "chosen_remediation", "action_items", "monitoring_gaps"],
  ],
  qbr_slide: [
    ...["executive_summary", "financial_metrics", "sales_pipeline", "product_highlights"],
    ...["support_metrics", "engineering_metrics", "key_insights", "action_items"],
  ],
  contract_renewal: ["vendor_summary", "current_terms", "proposed_changes", "risk_flags", "approval_routing", "recommendation"],
} as const satisfies Record<string, readonly string[]>;
export type DocumentType = keyof typeof TEMPLATES;

export interface BusinessDocument {
  type: DocumentType;
  /** ISO, UTC. */
  created_at: string;
  /** As given, and `missing_sections` when there are any. */
  metadata: Record<string, Json>;
  /** The required ones in their order, then the others. */
  sections: Record<string, Json>;
  complete: boolean;
  missing: string[];
}

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "");

/** at: ms. An empty list is an answer ("none"); blank text is not. */
export function buildDocument(
  type: DocumentType,
  given: Record<string, Json>,
  metadata: Record<string, Json>,
  at: number,
): BusinessDocument {
  const required: readonly string[] = TEMPLATES[type];
  const sectionOf = (name: string): Json | undefined => (Object.hasOwn(given, name) ? given[name] : undefined);
  const missing = required.filter((name) => isBlank(sectionOf(name)));
  const names = [...required, ...Object.keys(given).filter((name) => !required.includes(name))];
  return {
    type,
    created_at: `${new Date(at).toISOString().slice(0, 19)}Z`,
    metadata: missing.length === 0 ? { ...metadata } : { ...metadata, missing_sections: missing },
    sections: Object.fromEntries(
      names.map((name) => [name, missing.includes(name) ? `[${spaced(name).toUpperCase()} — REQUIRED]` : (sectionOf(name) ?? null)]),
    ),
    complete: missing.length === 0,
    missing,
  };
}

/** The document as markdown. Text in it cannot begin a section: one that a vendor wrote must not look like the approver's. */
export function formatDocument(document: Pick<BusinessDocument, "type" | "created_at" | "metadata" | "sections">): string {
  const facts = Object.entries(document.metadata).filter(([name]) => name !== "missing_sections");
  return [
    `## ${oneLine(spaced(document.type)).toUpperCase()}`,
    `Generated: ${oneLine(document.created_at)}`,
    ...facts.map(([name, value]) => `${oneLine(name)}: ${oneLine(asText(value))}`),
    "",
    ...Object.entries(document.sections).flatMap(([name, value]) => [`### ${titled(oneLine(name))}`, ...linesOf(value), ""]),
  ].join("\n");
}

function linesOf(value: Json): string[] {
  if (!Array.isArray(value)) return [quiet(asText(value))];
  if (value.length === 0) return ["None."];
  return value.map((item) => `- ${quiet(asText(item)).replaceAll("\n", "\n  ")}`);
}

const asText = (value: Json): string =>
  typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
/** Headings, their underlines and fences at the start of a line are shown as they are written. */
const quiet = (text: string): string =>
  text.replace(/\r\n?|[\u2028\u2029]/g, "\n").replace(/^([\t ]*)(#|=+[\t ]*$|-{2,}[\t ]*$|`{3}|~{3})/gm, "$1\\$2");
const spaced = (name: string): string => name.replaceAll("_", " ");
const titled = (name: string): string => spaced(name).replace(/(^| )\p{Ll}/gu, (start) => start.toUpperCase());

/** `52340 EUR` -> `EUR 52,340.00`; one without a currency has no sign of one. Cents are added, never cut; other text stays as it is. */
export function amountText(amount: string, currency?: string): string {
  const parts = /^(-?)(\d{1,30})(?:\.(\d{1,18}))?(?: ([A-Z]{2,12}))?$/.exec(amount);
  if (parts === null) return amount;
  const [, sign = "", whole = "", cents = "", own = currency] = parts;
  return `${sign}${own === "USD" ? "$" : own === undefined ? "" : `${own} `}${whole.replace(/\B(?=(?:\d{3})+$)/g, ",")}.${cents.padEnd(2, "0")}`;
}

/** The part of a verdict that a brief tells. */
interface Policy extends Pick<Verdict, "passed" | "summary" | "indeterminate"> {
  triggered: { rule: string; action: string; level: string | null; description: string }[];
}

export interface BriefInput {
  /** invoice_reconciliation */
  process: string;
  title: string;
  /** What will be done after a yes, or in words where there is no call yet. */
  calls: readonly (Call | string)[];
  verdict: Policy | null;
  level: string | null;
  risk?: string | undefined;
  /** Name -> decimal text. */
  amounts: Record<string, string>;
  currency?: string | undefined;
  /** Amounts that no policy has judged, in words. */
  not_judged?: string | null | undefined;
  /** Who is asked; empty when anybody of the level may decide. */
  by: string;
  /** ms */
  at: number;
}

/** What a person reads before a gate is decided. */
export function approvalBrief(brief: BriefInput): BusinessDocument {
  const amounts = Object.entries(brief.amounts).map(([name, amount]) => `${name}: ${amountText(amount, brief.currency)}`);
  const asked = [brief.by, brief.level === null ? "" : `level ${brief.level}`].filter((part) => part !== "").join(", ");
  const sections = {
    request_summary: [
      `${titled(brief.process)}: ${brief.title}`,
      ...(amounts.length === 0 ? [] : [`Amounts: ${amounts.join(" | ")}`]),
    ].join("\n"),
    proposed_actions: brief.calls.map((call) => (typeof call === "string" ? call : `${call.tool} ${JSON.stringify(call.params)}`)),
    policy_compliance: [compliance(brief.verdict), ...(brief.not_judged == null ? [] : [brief.not_judged])].join("\n"),
    risk_assessment: `Risk: ${brief.risk?.toUpperCase() ?? "NOT ASSESSED"}`,
    approver_decision: `Waiting for ${asked === "" ? "an approver" : asked}.`,
  };
  return buildDocument("approval_brief", sections, { process: brief.process }, brief.at);
}

function compliance(verdict: Policy | null): string {
  if (verdict === null) return "Status: NOT EVALUATED";
  const rules = verdict.triggered.map(
    (one) => `${one.rule}${one.level === null ? "" : ` (${one.level})`}: ${one.description || one.action}`,
  );
  const open = verdict.indeterminate.map((one) => `${one.rule}: cannot be decided without ${one.missing.join(", ")}`);
  return [`Status: ${verdict.passed ? "PASSED" : "TRIGGERED"}`, verdict.summary, ...rules, ...open]
    .filter((line) => line !== "")
    .join("\n");
}

export interface PostMortemInput {
  incident_id: string;
  summary: string;
  timeline: { time: string; event: string }[];
  root_cause: string;
  contributing_factors: string[];
  impact: Record<string, Json>;
  action_items: { action: string; owner?: string | undefined; effort?: string | undefined; impact?: string | undefined }[];
}

const BLAMELESS =
  "This review looks for causes in systems and procedures. Everybody is taken to have acted with the best intentions on what they knew at the time.";

export function postMortem(given: PostMortemInput, at: number): BusinessDocument {
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

export interface SprintPlanInput {
  sprint: number;
  goal: string;
  stories: { id: string; title: string; points: number; assignee?: string | undefined; depends_on: string[] }[];
  capacity: { total: number; by_person: Record<string, number> };
  dependencies: string[];
  risks: string[];
  carryover: string[];
}

/** Metadata: `allocated_points`, and `over_capacity` naming who or what is over, when any is. */
export function sprintPlan(plan: SprintPlanInput, at: number): BusinessDocument {
  const sum = (stories: SprintPlanInput["stories"]): number => Math.round(stories.reduce((all, one) => all + one.points * 100, 0)) / 100;
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
