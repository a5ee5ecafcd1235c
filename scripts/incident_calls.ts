/*
name: Incident calls
description: What undoes an incident - each suspected deployment, its state where one is undone - and the ticket for the post-mortem
input: {incident: {type: object, required: true}, suspects: {type: list, required: true},
  root_cause: {type: string, required: true}, on_call: {type: string, required: true}}
*/
const { incident, suspects, root_cause, on_call } = input;
const { incident_id, summary } = incident;
const undo = suspects.map(({ deployment_id }: any) => ({ tool: "erp/rollback_deployment", params: { deployment_id } }));
const update = { tool: "erp/update_incident", params: { incident_id, status: "mitigated", root_cause } };
const review_of = { reference: incident_id, subject: `Post-mortem: ${summary}`, assignee: on_call, priority: "high" };
[...undo, ...(undo.length > 0 ? [update] : []), { tool: "erp/create_ticket", params: review_of }];
