/*
name: Ask
description: Gets approval for exactly these calls where it is needed, and enters MUTATE
input:
  title: {type: string, required: true, describe: the question for whoever decides}
  calls: {type: list, required: true, describe: "{tool, params} each; amounts computed or read before"}
  ask: {type: boolean, required: true, describe: the verdict has not passed or the gate is fixed}
  otherwise: {type: list, describe: "what is called after a rejection; without it a rejection ends the run"}
  fixed: {type: boolean, default: false, describe: the calls belong together and are approved as they are}
  details: {type: object, describe: facts for the card}
  receivers: {type: object, describe: "{tool, key, of, not}: whom the parameters `of` name is there, as `tool` reads by `key`; nobody a person puts in has the field `not`"}
  same: {type: list, describe: names of parameters that are one amount in all of these calls}
*/
// Answers {by, no, calls}: who decided, why not (null when approved), and what may be called now.
const { title, otherwise, fixed, details, receivers, same = [] } = input;
let by = "policy";
let no: string | null = null;
// Where nobody is asked the policy has approved, and no gate puts that in.
const unasked = (params: any) => Object.fromEntries(Object.entries(params).map(([field, value]) => [field, value === "@approver" ? by : value]));
const namedIn = (list: any[]) => new Set<string>(list.flatMap(({ params }) => (receivers?.of ?? []).flatMap((one: string) => params[one] ?? [])));
const planned = namedIn(input.calls);
let calls = input.calls.map(({ tool, params }) => ({ tool, params: unasked(params) }));
if (input.ask) {
  fsm_enter("APPROVAL_GATE");
  const asked = approval_wait({ title, calls: input.calls, otherwise, fixed, details, expires: "14d" });
  calls = asked.calls;
  by = asked.by;
  if (asked.decision === "rejected") no = asked.reason ?? "no reason given";
}
fsm_enter("MUTATE");
const amounts = new Set(calls.flatMap(({ params }) => same.flatMap((one: string) => (params[one] === undefined ? [] : [new Decimal(params[one]).toFixed(2)]))));
if (amounts.size > 1) throw new Error(`${same.join(" and ")} are one amount, and differ here.`);
// Somebody may have been put in who is not there: once the calls are made it is too late to find out.
for (const id of namedIn(calls)) {
  const one = mcp_record({ tool: receivers.tool, params: { [receivers.key]: id } });
  const bars = planned.has(id) ? null : (one[receivers.not] ?? null);
  if (bars !== null) throw new Error(`${id} cannot receive it: ${receivers.not} ${bars}.`);
}
({ by, no, calls });
