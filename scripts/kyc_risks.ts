/*
name: KYC risks
description: The customers enhanced due diligence is due for, with the reasons
input: {customers: {type: list, required: true}, countries: {type: list, required: true}}
*/
const risks = [];
for (const one of input.customers) {
  const reasons = [
    ...(one.sanctions_hit ? ["sanctions hit"] : []),
    ...(one.pep ? ["politically exposed person"] : []),
    ...(input.countries.includes(one.country) ? [`listed country ${one.country}`] : []),
    ...(one.risk_rating === "high" ? ["high risk rating"] : []),
  ];
  if (reasons.length > 0) risks.push({ customer_id: one.customer_id, name: one.name, reason: reasons.join(", ") });
}
risks;
