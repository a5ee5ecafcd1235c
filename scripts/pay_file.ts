/*
name: Pay file
description: The bank's file of a payroll, NACHA for US routing numbers and pain.001 for IBANs
input: {reference: {type: string, required: true}, pay_date: {type: date, required: true}, today: {type: date, required: true}, company: {type: object, required: true}, people: {type: list, required: true}, slips: {type: list, required: true}}
*/
const { reference, pay_date, today, company, people, slips } = input;
const iban = people.every(({ account }: any) => account.iban !== null);
const { name, bic, routing_number, account_number, ach_company_id } = company;
payroll_bank_file({
  format: iban ? "pain.001" : "nacha",
  reference,
  created_on: today,
  pay_date,
  payer: { name, iban: company.iban, bic, routing_number, account_number, ach_company_id },
  currency: people[0].profile.currency,
  payments: people.map(({ employee, account }: any, i: number) => ({
    id: employee.employee_id,
    name: account.holder,
    iban: account.iban,
    bic: account.bic,
    routing_number: account.routing_number,
    account_number: account.account_number,
    amount: slips[i].net,
  })),
});
