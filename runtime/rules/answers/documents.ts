/** Business documents with required sections (spec/worker.md 19). Pure. Missing sections are named, never invented. */
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

export type BusinessDocument = ReturnType<typeof buildDocument>;

const isBlank = (value: Json | undefined): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "");

/** at: ms since 1970. An empty list is an answer ("none"); blank text is not. */
export function buildDocument(type: DocumentType, given: Record<string, Json>, metadata: Record<string, Json>, at: number) {
  const required: readonly string[] = TEMPLATES[type];
  const sectionOf = (name: string): Json | undefined => (Object.hasOwn(given, name) ? given[name] : undefined);
  const missing = required.filter((name) => isBlank(sectionOf(name)));
  const names = [...required, ...Object.keys(given).filter((name) => !required.includes(name))];
  return {
    type,
    /** ISO, UTC. */
    created_at: `${new Date(at).toISOString().slice(0, 19)}Z`,
    /** As passed, and `missing_sections` when there are any. */
    metadata: missing.length === 0 ? { ...metadata } : { ...metadata, missing_sections: missing },
    /** The required ones in order, then the others. */
    sections: Object.fromEntries(
      names.map((name) => [name, missing.includes(name) ? `[${spaced(name).toUpperCase()} — REQUIRED]` : (sectionOf(name) ?? null)]),
    ),
    complete: missing.length === 0,
    missing,
  };
}

/** The document as markdown. Text in it cannot begin a section: a vendor's text must not look like the approver's. */
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
  if (!Array.isArray(value)) return [escapeBlocks(asText(value))];
  if (value.length === 0) return ["None."];
  return value.map((item) => `- ${escapeBlocks(asText(item)).replaceAll("\n", "\n  ")}`);
}

export const asText = (value: Json): string =>
  typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
/** Escapes headings, their underlines and fences at the start of a line. */
const escapeBlocks = (text: string): string =>
  text.replace(/\r\n?|[\u2028\u2029]/g, "\n").replace(/^([\t ]*)(#|=+[\t ]*$|-{2,}[\t ]*$|`{3}|~{3})/gm, "$1\\$2");
export const spaced = (name: string): string => name.replaceAll("_", " ");
const titled = (name: string): string => spaced(name).replace(/(^| )\p{Ll}/gu, (start) => start.toUpperCase());

/** `52340 EUR` -> `EUR 52,340.00`; without a currency there is no currency sign. Cents are added, never cut; other text is unchanged. */
export function amountText(amount: string, currency?: string): string {
  const parts = /^(-?)(\d{1,30})(?:\.(\d{1,18}))?(?: ([A-Z]{2,12}))?$/.exec(amount);
  if (parts === null) return amount;
  const [, sign = "", whole = "", cents = "", own = currency] = parts;
  return `${sign}${own === "USD" ? "$" : own === undefined ? "" : `${own} `}${whole.replace(/\B(?=(?:\d{3})+$)/g, ",")}.${cents.padEnd(2, "0")}`;
}

/** The part of a verdict that a brief shows. */
interface Policy extends Pick<Verdict, "passed" | "summary" | "indeterminate"> {
  triggered: { rule: string; action: string; level: string | null; description: string }[];
}

export interface BriefInput {
  /** invoice_reconciliation */
  process: string;
  title: string;
  /** The calls made after an approval, or a description where there is no call yet. */
  calls: readonly (Call | string)[];
  verdict: Policy | null;
  level: string | null;
  risk?: string | undefined;
  /** Name -> decimal text. */
  amounts: Record<string, string>;
  currency?: string | undefined;
  /** Amounts that no policy has judged, as a sentence. */
  not_judged?: string | null | undefined;
  /** Who is asked; empty when anyone with the level may decide. */
  by: string;
  /** ms */
  at: number;
}

/** `erp/pay amount: 52,340.00 | erp/pay discount: 1,046.80`; empty if there are none. */
export const amountsLine = (amounts: Record<string, string>, currency?: string): string =>
  Object.entries(amounts)
    .map(([name, amount]) => `${name}: ${amountText(amount, currency)}`)
    .join(" | ");

export const actionLines = (calls: readonly (Call | string)[]): string[] =>
  calls.map((call) => (typeof call === "string" ? call : `${call.tool} ${JSON.stringify(call.params)}`));

/** The sections that depend on the calls and their figures, which a person may edit. */
export function requestSections({ process, title, calls, amounts, currency }: Omit<BriefInput, "verdict" | "level" | "by" | "at">) {
  const line = amountsLine(amounts, currency);
  return {
    request_summary: [`${titled(process)}: ${title}`, ...(line === "" ? [] : [`Amounts: ${line}`])].join("\n"),
    proposed_actions: actionLines(calls),
  };
}

/** What a person reads before a gate is decided. */
export function approvalBrief(brief: BriefInput): BusinessDocument {
  const approver = [brief.by, brief.level === null ? "" : `level ${brief.level}`].filter((part) => part !== "").join(", ");
  const sections = {
    ...requestSections(brief),
    policy_compliance: [compliance(brief.verdict), ...(brief.not_judged == null ? [] : [brief.not_judged])].join("\n"),
    risk_assessment: `Risk: ${brief.risk?.toUpperCase() ?? "NOT ASSESSED"}`,
    approver_decision: `Waiting for ${approver === "" ? "an approver" : approver}.`,
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
