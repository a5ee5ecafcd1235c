/*
name: Compliance Audit
description: Compare what each customer must have on file with what is there, weigh the controls, send risky ones to due diligence
trigger: a2a
process: compliance_audit
risk: high
uses: [fsm, mcp, data, document, policy, approval, script, notify]
input: {audit_id: {type: string, required: true}, customers: {type: list, default: [], describe: ids; without it all}}
states:
  ASSESS: read the audit, customers, required and held documents, the country list
  COMPUTE: gaps with their age, score of the controls, who is risky
  POLICY_CHECK: findings, repeats, missing evidence, missing documents, enhanced due diligence
  APPROVAL_GATE: the audit is signed off
  MUTATE: remediation tasks, due diligence cases, publish, report
  SCHEDULE_NOTIFY: tell the owners
examples: [{audit_id: AUD-24}]
*/
fsm_enter("ASSESS");
const { audit_id } = input;
const read = script_run("audit_records", { audit_id, customers: input.customers });
const { today, audit, customers, required, held, countries, cases } = read;
fsm_enter("COMPUTE");
const gaps = script_run("kyc_gaps", { customers, required, held, today });
const risky = script_run("kyc_risks", { customers, countries });
const due = risky.filter((one: any) => cases.every((known: any) => known.customer_id !== one.customer_id || known.status !== "open"));
const score = script_run("control_score", { controls: audit.controls });
const { open, by_severity, ...counted } = script_run("audit_facts", { audit, customers, countries, gaps });
fsm_enter("POLICY_CHECK");
// What was not read whole is not known.
const verdict = policy_evaluate({ about: { audit_id, score, findings: open }, facts: read.whole ? counted : { audit_status: audit.status } });
const ownerOf = (control_id: string) => data_first({ records: audit.controls, where: { control_id } }).owner_id;
const task = ({ finding_id, title, control_id }: any) => ({ finding_id, title: `Remedy: ${title}`, owner_id: ownerOf(control_id) });
const title = `Sign off ${audit.title}, score ${score}, ${gaps.length} gaps?`;
let day = today;
let asked: any;
do {
  const due_on = script_run("days", { from: day, add: 30 }).day;
  const calls = [
    ...open.map((one: any) => ({ tool: "erp/create_remediation_task", params: { ...task(one), due_on } })),
    ...due.map(({ customer_id, reason }: any) => ({ tool: "erp/initiate_edd_review", params: { customer_id, reason } })),
    { tool: "erp/publish_audit", params: { audit_id, score } },
  ];
  asked = script_run("carry_out", { title, calls, ask: true, today: day, again: day !== today, details: { score, gaps, enhanced_due_diligence: risky } });
  if (asked.passed) day = mcp_call("erp/get_business_date");
} while (asked.passed);
const { by, made } = asked;
const actions = made["erp/create_remediation_task"] ?? [];
const [{ score: published }] = made["erp/publish_audit"];
const reviewed = [...(made["erp/initiate_edd_review"] ?? []), ...risky.filter((one: any) => !due.includes(one))];
const report = script_run("audit_report", { audit, customers, open, gaps, actions });
fsm_enter("SCHEDULE_NOTIFY");
const counts = `${open.length} findings, ${gaps.length} gaps, ${reviewed.length} customers to enhanced due diligence`;
const summary = `${audit_id}: score ${published}, ${counts}, signed by ${by}`;
notify_send({ to: "compliance", subject: `${audit.title} is published`, text: summary, key: summary });
const result = { findings: open, by_severity, score: published, actions, gaps, enhanced_due_diligence: reviewed, report };
({ ...result, verdict: verdict.summary, summary });
