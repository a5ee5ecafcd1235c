/** What can be done to contracts, services, incidents, tickets, the books and audits. */
import { add, change, person, reason, TODAY } from "../act.ts";
import { addRow, changeRows, minus, Refused, type Row, rowThere, total } from "../business.ts";
import { count, day, money, oneOf, optional, text, type Tool, type World } from "../tool.ts";

export const OPERATIONS_ACTS: Tool[] = [
  add("apply_credit", "Apply a service credit to a contract for a period.", "credits", {
    fields: { contract_id: text("contract"), period: text("YYYY-MM"), amount: money("credit"), reason },
    fixed: { status: "applied", applied_on: TODAY },
    after: ({ db }, row) => void rowThere(db, "contracts", { contract_id: row["contract_id"] ?? null }),
  }),
  change("rollback_deployment", "Take a deployment back; the version before it runs again.", "deployments", {
    fixed: { status: "rolled_back" },
    only: { status: ["live", "rolled_back"] },
    after: ({ db }, row) =>
      changeRows(
        db,
        "services",
        { service_id: row["service_id"] ?? null },
        { version: row["previous_version"] ?? null, status: "healthy" },
      ),
  }),
  change("scale_service", "Set how many replicas of a service run.", "services", { fields: { replicas: count("replicas", 0) } }),
  change("set_circuit_breaker", "Open or close a service's circuit breaker.", "services", {
    fields: { circuit_breaker: oneOf("state", ["open", "closed"]) },
  }),
  change("update_incident", "Set an incident's status, cause and duration.", "incidents", {
    fields: {
      status: oneOf("status", ["open", "mitigated", "resolved"]),
      severity: optional(oneOf("severity", ["P1", "P2", "P3", "P4"])),
      root_cause: optional(text("cause")),
      duration_minutes: optional(count("minutes", 0)),
    },
  }),
  add(
    "create_ticket",
    "Open a ticket about something, named by its reference.",
    "tickets",
    {
      fields: {
        reference: text("what it is about"),
        subject: text("subject"),
        assignee: optional(person),
        priority: oneOf("priority", ["low", "normal", "high"]),
      },
      fixed: { status: "open" },
    },
    { reference: "reference" },
  ),
  change("update_ticket", "Set a ticket's assignee or status.", "tickets", {
    fields: {
      assignee: optional(person),
      status: oneOf("status", ["open", "waiting", "closed"]),
      resolution: optional(text("resolution")),
    },
  }),
  change("close_ticket", "Close a ticket.", "tickets", { fields: { resolution: text("resolution") }, fixed: { status: "closed" } }),
  change("lock_period", "Lock an accounting period.", "periods", {
    fields: { locked_by: person, trial_balance_hash: text("hash of the trial balance") },
    fixed: { status: "locked", locked_on: TODAY },
    only: { status: ["open", "locked"] },
  }),
  add("post_entry", "Post a balanced entry to an open period, under a reference of ours.", "gl_entries", {
    fields: {
      reference: text("our reference"),
      period: text("YYYY-MM"),
      entry_date: day("date"),
      memo: text("what for"),
      lines: {
        type: "array",
        minItems: 2,
        description: "debits and credits",
        items: {
          type: "object",
          properties: { account: text("account"), department_id: text("department"), debit: money("debit"), credit: money("credit") },
          required: ["account", "debit", "credit"],
          additionalProperties: false,
        },
      },
    },
    fixed: { status: "posted" },
    after: (world, row, params) => postLines(world, row, params["lines"] as unknown as Row[]),
  }),
  change("publish_audit", "Publish an audit with its score.", "audits", {
    fields: { score: text("score, 0 to 100") },
    fixed: { status: "published", published_on: TODAY },
  }),
  add("create_remediation_task", "Give somebody the task to remedy a finding.", "remediation_tasks", {
    fields: { finding_id: text("finding"), title: text("task"), owner_id: person, due_on: day("due") },
    fixed: { status: "open" },
    after: ({ db }, { finding_id = null }) => void rowThere(db, "findings", { finding_id }),
  }),
];

function postLines({ db }: World, entry: Row, lines: Row[]): void {
  const period = rowThere(db, "periods", { period: entry["period"] ?? null });
  if (period["status"] !== "open") throw new Refused(`period ${entry["period"]} is ${period["status"]}`);
  const gap = minus(total(lines.map((line) => line["debit"])), total(lines.map((line) => line["credit"])));
  if (gap !== "0.00") throw new Refused(`the entry is not balanced: debit minus credit is ${gap}`);
  for (const line of lines) {
    rowThere(db, "gl_accounts", { account: line["account"] ?? null });
    addRow(db, "gl_lines", { ...line, entry_id: entry["entry_id"] ?? null });
  }
}
