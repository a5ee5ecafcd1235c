/*
name: Audit calls
description: What an audit writes - a task for each open finding, due diligence where it is due, and the audit itself
input: {audit: {type: object, required: true}, open: {type: list, required: true}, due: {type: list, required: true},
  score: {type: string, required: true}, today: {type: date, required: true}}
*/
const { audit, open, due, score, today } = input;
const due_on = script_run("days", { from: today, add: 30 }).day;
const ownerOf = (control_id: string) => data_first({ records: audit.controls, where: { control_id } }).owner_id;
const task = ({ finding_id, title, control_id }: any) => ({ finding_id, title: `Remedy: ${title}`, owner_id: ownerOf(control_id), due_on });
[
  ...open.map((one: any) => ({ tool: "erp/create_remediation_task", params: task(one) })),
  ...due.map(({ customer_id, reason }: any) => ({ tool: "erp/initiate_edd_review", params: { customer_id, reason } })),
  { tool: "erp/publish_audit", params: { audit_id: audit.audit_id, score } },
];
