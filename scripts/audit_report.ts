/*
name: Audit report
description: Writes the report of an audit below data/audits/ and answers its path
input: {audit: {type: object, required: true}, customers: {type: list, required: true}, open: {type: list, required: true}, gaps: {type: list, required: true}, actions: {type: list, required: true, describe: the remediation tasks as approved}}
*/
const { audit, customers, open, gaps, actions } = input;
const deadlines = actions.map((one: any) => `${one.due_on}: ${one.title}`).sort();
const audit_scope = `${audit.title} (${audit.framework}), ${customers.length} customers`;
const sections = { audit_scope, findings: open, gap_analysis: gaps, remediation_plan: actions, deadline_summary: deadlines };
const document = document_build({ type: "compliance_report", sections });
const { path } = data_write({ path: `audits/${audit.audit_id}.md`, text: document_format({ document }) });
`data/${path}`;
