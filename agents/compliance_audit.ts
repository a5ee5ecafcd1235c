/*
name: Compliance Audit
description: Compare what each customer must have on file with what is there, weigh the controls, send the risky ones to enhanced due diligence
process: compliance_audit
risk: high
uses: [fsm, mcp, data, document, policy, approval, script, notify]
input:
  audit_id: {type: string, required: true}
  customers: {type: list, default: [], describe: ids; all without}
states:
  ASSESS: read the audit, customers, required and held documents, the country list
  COMPUTE: gaps with their age, score of the controls, who is risky
  POLICY_CHECK: findings, repeats, missing evidence, missing documents, enhanced due diligence
  APPROVAL_GATE: the audit is signed off
  MUTATE: remediation tasks, due diligence cases, publish, report
  SCHEDULE_NOTIFY: tell the owners
examples:
  - {audit_id: AUD-24}
*/
fsm_enter("ASSESS");
const { audit_id } = input;
const today = mcp_call("erp/get_business_date");
const audit = script_run("record", { tool: "erp/get_audit", params: { audit_id } });
const everyone = mcp_fetch_all({ tool: "erp/list_customers" });
const customers = everyone.records.filter((one) => input.customers.length === 0 || input.customers.includes(one.customer_id));
const required = mcp_fetch_all({ tool: "erp/list_kyc_requirements" });
const held = mcp_fetch_all({ tool: "erp/list_kyc_documents" });
const listed = mcp_call({ tool: "erp/list_listed_countries", params: {} });
const countries = (listed.records ?? listed).map((one: any) => one.country);
const cases = customers.map(({ customer_id }) => mcp_call({ tool: "erp/get_edd_case", params: { customer_id } }));
const whole = everyone.complete && required.complete && held.complete;
fsm_enter("COMPUTE");
const gaps = script_run("kyc_gaps", { customers, required: required.records, held: held.records, today });
const risky = script_run("kyc_risks", { customers, countries });
const due = risky.filter((one: any) => cases.every((held) => held.customer_id !== one.customer_id || held.status !== "open"));
const score = script_run("control_score", { controls: audit.controls });
const open = audit.findings.filter((one: any) => one.status === "open");
const count = (severity: string) => open.filter((one: any) => one.severity === severity).length;
const kinds = (problem: string) => (whole ? gaps.filter((one: any) => one.problem === problem).length : null);
fsm_enter("POLICY_CHECK");
const rated = (rating: string) => customers.some((one) => one.risk_rating === rating);
const verdict = policy_evaluate({
  facts: {
    critical_findings: count("critical"),
    high_findings: count("high"),
    repeat_findings: open.filter((one: any) => one.repeat_of !== null).length,
    controls_without_evidence: audit.controls.filter((one: any) => one.evidence === null).length,
    documents_missing: kinds("missing"),
    documents_outdated: kinds("outdated"),
    risk_rating: rated("high") ? "high" : rated("medium") ? "medium" : "low",
    pep: customers.some((one) => one.pep),
    sanctions_hit: customers.some((one) => one.sanctions_hit),
    listed_country: customers.some((one) => countries.includes(one.country)),
  },
});
const due_on = script_run("days", { from: today, add: 30 }).day;
const actions = open.map(({ finding_id, title, control_id }: any) => ({
  finding_id,
  title: `Remedy: ${title}`,
  owner_id: audit.controls.find((one: any) => one.control_id === control_id).owner_id,
  due_on,
}));
const calls = [
  ...actions.map((params: object) => ({ tool: "erp/create_remediation_task", params })),
  ...due.map(({ customer_id, reason }: any) => ({ tool: "erp/initiate_edd_review", params: { customer_id, reason } })),
  { tool: "erp/publish_audit", params: { audit_id, score } },
];
const details = { score, gaps, enhanced_due_diligence: risky };
const { by } = script_run("carry_out", {
  title: `Sign off ${audit.title}, score ${score}, ${gaps.length} gaps?`,
  calls,
  ask: true,
  details,
});
const report = {
  audit_scope: `${audit.title} (${audit.framework}), ${customers.length} customers`,
  findings: open,
  gap_analysis: gaps,
  remediation_plan: actions,
  deadline_summary: due_on,
};
data_write({
  path: `audits/${audit_id}.md`,
  text: document_format({ document: document_build({ type: "compliance_report", sections: report }) }),
});
fsm_enter("SCHEDULE_NOTIFY");
const summary = `${audit_id}: score ${score}, ${open.length} findings, ${gaps.length} gaps, ${risky.length} customers to enhanced due diligence, signed by ${by}`;
notify_send({ to: "compliance", subject: `${audit.title} is published`, text: summary, key: audit_id });
({
  findings: open,
  by_severity: { critical: count("critical"), high: count("high"), medium: count("medium") },
  score,
  actions,
  gaps,
  enhanced_due_diligence: risky,
  report: `data/audits/${audit_id}.md`,
  verdict: verdict.summary,
  summary,
});
