/*
name: KYC gaps
description: Per customer, the required documents that are missing, unverified or too old, with their age in days
input: {customers: {type: list, required: true}, required: {type: list, required: true}, held: {type: list, required: true}, today: {type: date, required: true}}
*/
const { customers, required, held, today } = input;
const age = (day: string) => Math.round((Date.parse(today) - Date.parse(day)) / 86400000);
const gaps = [];
for (const { customer_id, risk_rating } of customers) {
  for (const { document_type, max_age_days } of required.filter((one: any) => one.risk_rating === risk_rating)) {
    const papers = held.filter((one: any) => one.customer_id === customer_id && one.document_type === document_type && one.verified);
    const good = papers.some((one: any) => age(one.issued_on) <= max_age_days && (one.expires_on === null || one.expires_on >= today));
    if (good) continue;
    const age_days = papers.length === 0 ? null : Math.min(...papers.map((one: any) => age(one.issued_on)));
    gaps.push({ customer_id, document_type, problem: papers.length === 0 ? "missing" : "outdated", age_days, max_age_days });
  }
}
gaps;
