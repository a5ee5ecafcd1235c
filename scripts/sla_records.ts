/*
name: SLA records
description: What a breach of a contract in a period is judged by; `earlier`, the others of its quarter
input: {contract_id: {type: string, required: true}, period: {type: string, required: true}}
*/
const { contract_id, period } = input;
const contract = mcp_record({ tool: "erp/get_contract", params: { contract_id } });
const uptime = mcp_record({ tool: "erp/get_uptime", params: { service_id: contract.service_id, period } });
const service = mcp_record({ tool: "erp/get_service", params: { service_id: contract.service_id } });
const owner = mcp_record({ tool: "erp/get_employee", params: { employee_id: service.on_call } });
const before = mcp_call({ tool: "erp/get_credit", params: { contract_id, period } });
const breaches = mcp_fetch_all({ tool: "erp/list_sla_breaches", params: { contract_id } });
const quarterOf = (month: string) => `${month.slice(0, 4)}-${Math.ceil(Number(month.slice(5, 7)) / 3)}`;
const earlier = breaches.records.filter((one) => quarterOf(one.period) === quarterOf(period) && one.period !== period);
({ contract, uptime, owner, before, earlier, all_known: breaches.complete });
