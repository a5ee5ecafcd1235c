/*
name: Incident records
description: An incident with its service, the deployments of the day before, earlier incidents and the contracts it touches
input: {incident_id: {type: string, required: true}}
*/
const incident = mcp_record({ tool: "erp/get_incident", params: { incident_id: input.incident_id } });
const { service_id, opened_at } = incident;
const service = mcp_record({ tool: "erp/get_service", params: { service_id } });
const live = mcp_fetch_all({ tool: "erp/list_deployments", params: { service_id, status: "live" } }).records;
const similar = mcp_fetch_all({ tool: "erp/list_incidents", params: { service_id, status: "resolved" } }).records;
const contracts = mcp_fetch_all({ tool: "erp/list_contracts", params: { service_id, side: "customer" } }).records;
// What was deployed in the day before is suspected.
const suspects = live.filter((one) => Date.parse(opened_at) - Date.parse(one.deployed_at) < 86400000 && one.deployed_at < opened_at);
({ incident, service, suspects, similar, contracts });
