/*
name: Audit facts
description: What the policy must know of an audit, counted; with the open findings by severity
input: {audit: {type: object, required: true}, customers: {type: list, required: true}, countries: {type: list, required: true}, gaps: {type: list, required: true}}
*/
const { audit, customers, countries, gaps } = input;
const open = audit.findings.filter((one: any) => one.status === "open");
const count = (severity: string) => open.filter((one: any) => one.severity === severity).length;
const gapsOf = (problem: string) => gaps.filter((one: any) => one.problem === problem).length;
const rated = (rating: string) => customers.some((one: any) => one.risk_rating === rating);
({
  open,
  by_severity: { critical: count("critical"), high: count("high"), medium: count("medium"), low: count("low") },
  audit_status: audit.status,
  critical_findings: count("critical"),
  high_findings: count("high"),
  repeat_findings: open.filter((one: any) => one.repeat_of !== null).length,
  controls_without_evidence: audit.controls.filter((one: any) => one.evidence === null).length,
  documents_missing: gapsOf("missing"),
  documents_outdated: gapsOf("outdated"),
  risk_rating: rated("high") ? "high" : rated("medium") ? "medium" : "low",
  pep: customers.some((one: any) => one.pep),
  sanctions_hit: customers.some((one: any) => one.sanctions_hit),
  listed_country: customers.some((one: any) => countries.includes(one.country)),
});
