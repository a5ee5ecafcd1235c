/*
name: Incident review
description: Writes the post-mortem of an incident below data/incidents/
input: {incident: {type: object, required: true}, suspects: {type: list, required: true}, impact: {type: object, required: true},
  root_cause: {type: string, required: true}, owner: {type: string, required: true}}
*/
const { incident, suspects, impact, root_cause, owner } = input;
const { incident_id, summary, opened_at } = incident;
const deployed = suspects.map((one: any) => ({ time: one.deployed_at, event: `${one.deployment_id} deployed` }));
const timeline = [...deployed, { time: opened_at, event: summary }];
const action_items = [{ action: "Find the root cause", owner }];
const review = document_post_mortem({ incident_id, summary, timeline, root_cause, impact, action_items });
data_write({ path: `incidents/${incident_id}.md`, text: document_format({ document: review }) });
