/*
name: Offboarding calls
description: What is done in order - status; access by its order and what is owned once access ends; the final pay once the work has ended; `final`, what cannot be undone
input: {employee: {type: object, required: true}, at_once: {type: boolean, required: true},
  gone: {type: boolean, required: true, describe: the work has ended}, systems: {type: list, required: true},
  owned: {type: list, required: true}, payout: {type: money, required: true}, paid: {type: boolean, required: true}}
*/
const { employee, at_once, gone, systems, owned, payout, paid } = input;
const { employee_id, last_day, manager_id, pto_hours } = employee;
const status = gone ? "left" : "leaving";
const calls: { tool: string; params: object }[] = [];
if (employee.status !== status) calls.push({ tool: "erp/update_employee_status", params: { employee_id, status, last_day } });
if (at_once) {
  for (const system of systems) calls.push({ tool: "erp/revoke_access", params: { employee_id, system } });
  for (const { item_id } of owned) calls.push({ tool: "erp/transfer_ownership", params: { item_id, owner_id: manager_id } });
}
if (gone) {
  const final = { employee_id, pto_hours, amount: payout, pay_date: last_day };
  if (!paid && !new Decimal(payout).isZero()) calls.push({ tool: "erp/record_final_pay", params: final });
}
// No tool gives access back or takes a final pay back.
const isFinal = ({ tool }: any) => tool === "erp/revoke_access" || tool === "erp/record_final_pay";
const final = calls.filter(isFinal).map(({ tool, params }: any) => `${tool} ${params.system ?? params.amount}`);
({ calls, final });
