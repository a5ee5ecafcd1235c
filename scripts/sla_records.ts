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
// A breach that was credited counts, listed or not.
const last = Math.ceil(Number(period.slice(5, 7)) / 3) * 3;
const others = [last - 2, last - 1, last].map((month) => `${period.slice(0, 5)}${String(month).padStart(2, "0")}`).filter((one) => one !== period);
const listed = breaches.records.filter((one) => others.includes(one.period));
const credits = others.map((month) => mcp_call({ tool: "erp/get_credit", params: { contract_id, period: month } }));
const unlisted = credits.filter((one) => one.found !== false && !listed.some((other) => other.period === one.period));
const earlier = [...listed, ...unlisted.map((one) => ({ period: one.period, credit: one.amount }))];
({ contract, uptime, owner, before, earlier, all_known: breaches.complete });
