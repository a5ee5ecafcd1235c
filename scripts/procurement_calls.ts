/*
name: Procurement calls
description: The order of a requisition, which commits the budget, and a ticket for its delivery
input: {asked: {type: object, required: true}, amount: {type: money, required: true}, today: {type: date, required: true}}
*/
const { requisition_id, vendor_id, department_id, description, needed_on, requester_id } = input.asked;
// What was needed earlier is needed now.
const delivery_on = needed_on < input.today ? input.today : needed_on;
const order = { requisition_id, vendor_id, department_id, description, amount: input.amount, delivery_on };
const ticket = { reference: requisition_id, subject: `Receive ${description}`, assignee: requester_id, priority: "normal" };
const calls = [
  { tool: "erp/create_purchase_order", params: order },
  { tool: "erp/create_ticket", params: ticket },
];
({ calls, order });
