/** What somebody proposes in good faith, each with what its card may say at most: none is stopped, and none is told to widen anything. */
import type { Rewrite } from "./rewrites.ts";

export interface Good {
  name: string;
  change: Rewrite;
  /** Words of the headline; null where the card says nothing but that nothing changes. */
  says: RegExp | null;
}

const INGEST = "agents/ingest.ts";
const PAY = "agents/invoice_reconciliation.ts";
const PACK = "policies/invoice_reconciliation.yaml";
const CONFIG = "config.yaml";
const LOOP = "for (let i = 0; i < rules.length; i++) if (text.includes(rules[i].text)) return rules[i];\n  return undefined;";

const CALLS = `const calls = [
    { tool: "erp/approve_invoice", params: { invoice_id, approved_by: "@approver" } },
    { tool: "erp/schedule_payment", params: { invoice_id, ...pay } },
  ];`;
const APPROVE_AND_PAY = `const approve = { tool: "erp/approve_invoice", params: { invoice_id, approved_by: "@approver" } };
const payment = { tool: "erp/schedule_payment", params: { invoice_id, ...pay } };`;

const row = (name: string, says: RegExp | null, change: Rewrite): Good => ({ name, says, change });

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: texts of scripts
// biome-ignore format: one row, one rewrite
export const GOOD: readonly Good[] = [
  // nothing changes
  row("a variable is renamed", null, { [INGEST]: [[/\bconfidence(?= =|,\n|\b >=|\s*\}\))/g, "certainty"], ["          certainty,\n", "          confidence: certainty,\n"], ["description: row.description, certainty })", "description: row.description, confidence: certainty })"]] }),
  row("a function is renamed", null, { [INGEST]: [[/\bruleFor\b/g, "firstRule"]] }),
  row("a loop's variable is renamed", null, { "scripts/carry_out.ts": [["for (const call of calls) answers.push(each ? trial(call) : in_time(call));", "for (const one of calls) answers.push(each ? trial(one) : in_time(one));"]] }),
  row("comments", null, { [INGEST]: [["const files", "// What lies in import/.\nconst files"], ["const sure", "/* as config.yaml says */ const sure"]] }),
  row("another batch size", null, { [INGEST]: [[/\b1000\b/g, "500"]] }),
  row("a batch size with a name", null, { [INGEST]: [["const files", "const BATCH = 1000;\nconst files"], ["start += 1000", "start += BATCH"], ["start + 1000", "start + BATCH"]] }),
  row("a host name inside a vendor's text", /adds "NETFLIX\.COM"/, { [INGEST]: [["const rules = [", 'const rules = [\n  { text: "NETFLIX.COM", account: 5020, vendor: "Netflix", confidence: 0.8 },']] }),
  row("a host name as a vendor", /adds "BOOKING"/, { [INGEST]: [["const rules = [", 'const rules = [\n  { text: "BOOKING", account: 5040, vendor: "Booking.com", confidence: 0.8 },']] }),
  row("an expression gets a name", null, { [INGEST]: [["amount: out ? row.amount.slice(1) : row.amount,", "amount: size,"], ["        entries.push({", "        const size = out ? row.amount.slice(1) : row.amount;\n        entries.push({"]] }),
  row("a name becomes its expression", null, { [INGEST]: [["  const text = description.toUpperCase();\n", ""], ["if (text.includes", "if (description.toUpperCase().includes"]] }),
  row("a loop becomes find", null, { [INGEST]: [[LOOP, "return rules.find((rule) => text.includes(rule.text));"]] }),
  row("keys in another order", null, { [INGEST]: [["          date: row.date,\n          description: row.description,\n", "          description: row.description,\n          date: row.date,\n"]] }),
  row("blanks and quotes", null, { [INGEST]: [['"no confident match"', "'no confident match'"], ["if (!sure) open", "if ( !sure )\n          open"]] }),
  row("what it writes into its log", null, { [INGEST]: [["`Done: ${imported - review} auto-confirmed, ${review} for review`", "`Done: ${review} for review`"]] }),
  row("a loop becomes forEach", null, { "scripts/carry_out.ts": [["for (const call of calls) answers.push(each ? trial(call) : in_time(call));", "calls.forEach((call: any) => answers.push(each ? trial(call) : in_time(call)));"]] }),
  row("a const becomes its expression", null, { [PAY]: [["const known = found.invoiced !== null;\n", ""], ["known ? pct_exact : null", "found.invoiced !== null ? pct_exact : null"], ["known ? variance : null", "found.invoiced !== null ? variance : null"]] }),
  row("a part of a condition gets a name", null, { "scripts/payment_terms.ts": [["const saves = vendor.early_discount_days > 0 && today <= last;", "const hasDiscount = vendor.early_discount_days > 0;\nconst saves = hasDiscount && today <= last;"]] }),
  row("the words of a commit become a function", null, { [INGEST]: [["const files = importer_scan();", 'const plural = (n: number) => (n === 1 ? "1 file" : `${n} files`);\nconst files = importer_scan();'], ['files.length === 1 ? "1 file" : `${files.length} files`', "plural(files.length)"]] }),
  row("one of several, by a list", null, { "scripts/offboarding_calls.ts": [['tool === "erp/revoke_access" || tool === "erp/record_final_pay"', '["erp/revoke_access", "erp/record_final_pay"].includes(tool)']] }),
  row("several consts become statements of their own", null, { "agents/month_end_close.ts": [["const [period_status, unexplained_variance, unapproved_entries] = [read.state.status, found.unexplained, drafts.records.length];", "const period_status = read.state.status;\nconst unexplained_variance = found.unexplained;\nconst unapproved_entries = drafts.records.length;"]] }),
  row("a list is mapped", /^the script carry_out: no longer adds to answers$[\s\S]*answers is made differently/m, { "scripts/carry_out.ts": [["const answers = [];\nfor (const call of calls) answers.push(each ? trial(call) : in_time(call));", "const answers = calls.map((call: any) => (each ? trial(call) : in_time(call)));"]] }),
  row("a comment in a dialect", null, { "importers/chase-checking.yaml": [[/$/, "# Chase changed nothing in 2026.\n"]] }),
  row("a comment in the settings", null, { [CONFIG]: [["branch: main ", "branch: main # as ever "]] }),
  row("a comment in a policy", null, { [PACK]: [["rules:\n", "# first match does not matter\nrules:\n"]] }),
  row("a rule of a policy gets another id", null, { [PACK]: [["id: TERMS_DIFFER", "id: OTHER_TERMS"], ["rules: [TERMS_DIFFER]", "rules: [OTHER_TERMS]"], ["rules: [TERMS_DIFFER]", "rules: [OTHER_TERMS]"]] }),
  row("conditions in another order", null, { [PACK]: [["variance > threshold.variance || variance < threshold.variance_under", "variance < threshold.variance_under || variance > threshold.variance"]] }),
  row("a loop over the things themselves", null, { [INGEST]: [[LOOP, "for (const one of rules) if (text.includes(one.text)) return one;\n  return undefined;"]] }),
  row("a text is joined", null, { [INGEST]: [["`rule: ${rule.text}`", '"rule: " + rule.text']] }),
  row("no files, said in another way", null, { [INGEST]: [["files.length === 0", "!files.length"]] }),
  row("some entries, said in another way", null, { [INGEST]: [["open.length > 0", "open.length !== 0"]] }),
  row("a value is taken out of its row", null, { [INGEST]: [["        const out = row.amount", "        const { date } = row;\n        const out = row.amount"], ["date: row.date,", "date,"]] }),
  row("a setting is read earlier", null, { [INGEST]: [['  const threshold = config_get("thresholds.auto_confirm");\n', ""], ["const files =", 'const threshold = config_get("thresholds.auto_confirm");\nconst files =']] }),
  row("a function becomes an arrow", null, { [INGEST]: [["function ruleFor(description: string) {", "const ruleFor = (description: string) => {"], ["  return undefined;\n}", "  return undefined;\n};"]] }),
  row("numbers in another spelling", null, { [INGEST]: [["start += 1000", "start += 1_000"], ["start + 1000", "start + 1_000"], ["confidence: 0.98", "confidence: 0.980"]] }),
  row("an answer's name", null, { [PAY]: [["const { by, no, made }", "const { by: who, no, made }"], ["${decision} by ${by}", "${decision} by ${who}"], ["pays: paid, by,", "pays: paid, by: who,"]] }),
  row("a policy's quotes", null, { [PACK]: [["when: duplicate, action: block", 'when: "duplicate", action: "block"'], ["vendor_status not in [approved, blocked]", "vendor_status not in [blocked, approved]"]] }),
  row("keys of a header and a dialect in another order", null, { [INGEST]: [["schedule: 0 6 * * *\nwatch: import/\n", "watch: import/\nschedule: 0 6 * * *\n"], ["uses: [importer, journal,", "uses: [journal, importer,"]], "importers/chase-checking.yaml": [["date: MM/DD/YYYY\ncurrency: USD", 'currency: "USD"\ndate: MM/DD/YYYY']] }),
  row("a status gets a name", null, { [INGEST]: [['status: sure ? "auto-confirmed" : "pending-review",', "status,"], ["        entries.push({", '        const status = sure ? "auto-confirmed" : "pending-review";\n        entries.push({']] }),
  row("what a call is given gets a name", null, { [PAY]: [["const found = script_run(\"invoice_context\", { invoice, order });", "const given = { invoice, order };\nconst found = script_run(\"invoice_context\", given);"]] }),
  row("a call's parameters get a name", null, { [PAY]: [['const invoice = mcp_record({ tool: "erp/get_invoice", params: { invoice_id } });', 'const query = { tool: "erp/get_invoice", params: { invoice_id } };\nconst invoice = mcp_record(query);']] }),
  row("an answer is taken apart", null, { [PAY]: [["const verdict = policy_evaluate(", "const { passed, summary: says } = policy_evaluate("], ["ask: !verdict.passed", "ask: !passed"], ["no ?? verdict.summary", "no ?? says"]] }),
  row("an answer is left whole", null, { [PAY]: [["const { by, no, made } = asked;\n", ""], ["const decision =", "const by = asked.by;\nconst no = asked.no;\nconst made = asked.made;\nconst decision ="]] }),
  row("calls are written where they are asked for", null, { [PAY]: [['const otherwise = [{ tool: "erp/reject_invoice", params: { invoice_id, reason: "@reason" } }];\n', ""], ["{ title, calls, otherwise, ask", '{ title, calls, otherwise: [{ tool: "erp/reject_invoice", params: { invoice_id, reason: "@reason" } }], ask']] }),
  row("a question's text is joined", null, { [PAY]: [["const title = `Pay ${pay.amount} ${invoice.currency ?? \"(no currency given)\"} to ${found.vendor.name} for ${invoice_id}? Variance ${pct_exact} %`;", 'const title = "Pay " + pay.amount + " " + (invoice.currency ?? "(no currency given)") + " to " + found.vendor.name + " for " + invoice_id + "? Variance " + pct_exact + " %";']] }),
  row("a choice becomes two statements", null, { "scripts/carry_out.ts": [["for (const call of calls) answers.push(each ? trial(call) : in_time(call));", "for (const call of calls) {\n  if (each) answers.push(trial(call));\n  else answers.push(in_time(call));\n}"]] }),
  row("a batch gets a name", null, { [INGEST]: [["for (const row of rows.slice(start, start + 1000)) {", "const batch = rows.slice(start, start + 1000);\n      for (const row of batch) {"]] }),
  row("an expression becomes a function", null, { [INGEST]: [["const files = importer_scan();", "const sizeOf = (row: any, out: boolean) => (out ? row.amount.slice(1) : row.amount);\nconst files = importer_scan();"], ["amount: out ? row.amount.slice(1) : row.amount,", "amount: sizeOf(row, out),"]] }),
  row("the calls of a list get names", null, { [PAY]: [[CALLS, APPROVE_AND_PAY], ["const title", "const calls = [approve, payment];\nconst title"]] }),
  row("a list is spread into another", null, { [PAY]: [[CALLS, 'const first = [{ tool: "erp/approve_invoice", params: { invoice_id, approved_by: "@approver" } }];\nconst calls = [...first, { tool: "erp/schedule_payment", params: { invoice_id, ...pay } }];']] }),
  row("a tool's name gets a name", null, { [PAY]: [["const { invoice_id } = input;", 'const GET = "erp/get_invoice";\nconst { invoice_id } = input;'], ['tool: "erp/get_invoice"', "tool: GET"]] }),
  row("calls by an index", null, { "scripts/carry_out.ts": [["for (const call of calls) answers.push(each ? trial(call) : in_time(call));", "for (let i = 0; i < calls.length; i++) answers.push(each ? trial(calls[i]) : in_time(calls[i]));"]] }),
  row("rows by an index", null, { [INGEST]: [["for (const row of rows.slice(start, start + 1000)) {", "const part = rows.slice(start, start + 1000);\n      for (let i = 0; i < part.length; i++) {\n        const row = part[i];"]] }),
  row("a choice is turned around", null, { [INGEST]: [['status: sure ? "auto-confirmed" : "pending-review"', 'status: !sure ? "pending-review" : "auto-confirmed"']] }),
  row("not equal, said in another way", null, { [PAY]: [["found.invoiced !== null", "!(found.invoiced === null)"]] }),
  row("the constant comes first", null, { [PAY]: [["no === null", "null === no"]] }),
  row("a parameter is taken apart", null, { "scripts/pay_facts.ts": [["(line: any) => !line.approved", "({ approved }: any) => !approved"]] }),
  row("a parameter is left whole", null, { "scripts/ask.ts": [["input.calls.map(({ tool, params }) => ({ tool, params: unasked(params) }))", "input.calls.map((call) => ({ tool: call.tool, params: unasked(call.params) }))"]] }),
  row("the years of slips are written out", null, { "scripts/pay_calls.ts": [["const years = slips.map(({ employee_id, ytd_gross, ytd_net }: any) => ({ employee_id, ytd_gross, ytd_net }));", "const years = slips.map((slip: any) => ({ employee_id: slip.employee_id, ytd_gross: slip.ytd_gross, ytd_net: slip.ytd_net }));"]] }),
  row("a number gets a name", null, { "scripts/collection_step.ts": [["const { customer_id } = customer;", "const NOTICE_FROM = 60;\nconst { customer_id } = customer;"], ["days >= 60", "days >= NOTICE_FROM"]] }),
  row("an early continue", null, { [INGEST]: [["if (!sure) open.push(", "if (sure) continue;\n        open.push("]] }),
  row("an empty line in what is known", null, { "knowledge/accounts.md": [["## Globex", "\n## Globex"]] }),
  row("a line more of what is known", /says "- net 30"/, { "knowledge/accounts.md": [["## Globex", "- net 30\n## Globex"]] }),
  row("a default is described", /Nothing changes/, { "scripts/carry_out.ts": [["each: {type: boolean, default: false, describe: a call", "each: {type: boolean, default: false, describe: one call"]] }),
  row("an error in other words", /^Changes /, { "scripts/order_changes.ts": [["is not the name of an article in stock", "is no article in stock"]] }),
  row("the title becomes a script", /Adds the script pay_title/, { [PAY]: [["const title = `Pay ${pay.amount} ${invoice.currency ?? \"(no currency given)\"} to ${found.vendor.name} for ${invoice_id}? Variance ${pct_exact} %`;", 'const title = script_run("pay_title", { amount: pay.amount, currency: invoice.currency ?? "(no currency given)", name: found.vendor.name, invoice_id, pct_exact });']], "scripts/pay_title.ts": "/*\nname: Pay title\ninput: {amount: {type: string}, currency: {type: string}, name: {type: string}, invoice_id: {type: string}, pct_exact: {type: string}}\n*/\nconst { amount, currency, name, invoice_id, pct_exact } = input;\n`Pay ${amount} ${currency} to ${name} for ${invoice_id}? Variance ${pct_exact} %`;\n" }),
  // what is better
  row("a vendor nobody has confirmed goes elsewhere", /would book 1 entry differently \(AWS .*Software to Office Supplies\)/, { [INGEST]: [['"AWS", account: 5020', '"AWS", account: 5030']] }),
  row("a rule it is not sure of", /BLUE BOTTLE|adds "BLUE/, { [INGEST]: [["const rules = [", 'const rules = [\n  { text: "BLUE BOTTLE", account: 5040, vendor: "Blue Bottle", confidence: 0.8 },']] }),
  row("an entry goes to a person instead", /waiting for a person, was confirmed without a person/, { [INGEST]: [['"STAPLES", account: 5030, vendor: "Staples", confidence: 0.96', '"STAPLES", account: 5030, vendor: "Staples", confidence: 0.5']] }),
  row("described in other words", /is described in other words|Nothing changes/, { [INGEST]: [["Import new bank", "Read new bank"]] }),
  row("it may use less", /may no longer use ctx/, { [INGEST]: [["git, config, ctx]", "git, config]"], [/ctx_log\(.*\);/g, ""]] }),
  row("it always asks", /always asks/, { [PAY]: [["APPROVAL_GATE?", "APPROVAL_GATE"], ["ask: !verdict.passed", "ask: true"]] }),
  row("a stricter threshold", /variance is 400 instead of 500/, { [PACK]: [["variance: 500\n", "variance: 400\n"], ['variance: "500.00"}, verdict: pass}', 'variance: "500.00"}, verdict: require_approval}']] }),
  row("a rule more", /adds the rule MORE: it blocks where vendor_status in \[unheard\] \(nobody has heard of it\)/, { [PACK]: [["usual:", '  - {id: MORE, when: "vendor_status in [unheard]", action: block, description: nobody has heard of it}\nusual:'], ["unknown: [VENDOR_NOT_APPROVED, VENDOR_BLOCKED]", "unknown: [VENDOR_NOT_APPROVED, VENDOR_BLOCKED, MORE]"]] }),
  row("more has to be sure", /thresholds\.auto_confirm is 0\.955 instead of 0\.95/, { [CONFIG]: [["auto_confirm: 0.95", "auto_confirm: 0.955"]] }),
  row("more privacy", /privacy\.health\.inbound is "refuse" instead of "allow"$/m, { [CONFIG]: [["privacy: {}", "privacy: {health: {inbound: refuse}}"]] }),
  row("the business has another name", /business\.name/, { [CONFIG]: [[/name: .*?#/, "name: Acme Goods  #"]] }),
  row("what is known of a vendor", /knowledge\/aws\.md/, { "knowledge/aws.md": "AWS is software.\n" }),
  row("a dialect for another bank", /a new dialect, mybank/, { "importers/mybank.yaml": "name: mybank\nmatch:\n  header: [Buchungstag, Zweck, Betrag]\ncolumns:\n  date: Buchungstag\n  description: Zweck\n  amount: Betrag\ndate: DD.MM.YYYY\ncurrency: EUR\n" }),
  row("less often", /starts less often: 0 6 \* \* 1-5 instead of 0 6 \* \* \*/, { [INGEST]: [["0 6 * * *", "0 6 * * 1-5"]] }),
  // names, words and settings that take nothing from anybody
  row("it is called better", /^Daily Ingest: name is "Import of statements" instead of "Daily Ingest"/, { [INGEST]: [["name: Daily Ingest", "name: Import of statements"]] }),
  row("its commits are worded better", /^Nothing changes/, { [INGEST]: [["git_commit(`import: ", "git_commit(`statements: "]] }),
  row("logged in other words", /^Nothing changes/, { [INGEST]: [["No new files to import", "Nothing to import today"]] }),
  row("quiet hours", /adds notify\.quiet_hours: from "20:00", to "08:00"/, { [CONFIG]: [["  default: page", '  default: page\n  quiet_hours: {from: "20:00", to: "08:00"}']] }),
  row("the rent goes where it belongs, and a person still looks", /CITY PROPERTIES RENT OCT: Office Supplies to Rent/, { [INGEST]: [["const rules = [", 'const rules = [\n  { text: "CITY PROPERTIES", account: 5060, vendor: "City Properties", confidence: 0.8 },']] }),
  row("an answer gets a name first", null, { "agents/procurement.ts": [["const { po_number, seller } = script_run(", "const done = script_run("], ["const decision =", "const { po_number, seller } = done;\nconst decision ="]] }),
  row("what was found, said in another way", null, { "scripts/collection_step.ts": [["one.found !== false", "!(one.found === false)"]] }),
  row("a list of one for a loop", null, { "scripts/split_amount.ts": [["for (let i = 0; i < input.parts; i++) parts.push(", "for (let n = 0; n < input.parts; n++) parts.push("], ["(i < odd ?", "(n < odd ?"]] }),
  row("an agent that says what it needs", null, { "agents/month_end_close.ts": [["describe: YYYY-MM}", "describe: the month as YYYY-MM}"]] }),
  row("the last call of a result gets a name", /^Changes /, { "scripts/incident_calls.ts": [['[...undo, ...(undo.length > 0 ? [update] : []), { tool: "erp/create_ticket", params: review_of }];', 'const ticket = { tool: "erp/create_ticket", params: review_of };\nconst updates = undo.length > 0 ? [update] : [];\n[...undo, ...updates, ticket];']] }),
  row("the days of a loop get a name", /^Changes /, { "agents/customer_onboarding.ts": [["for (const days of [30, 60, 90])", "const CHECK_INS = [30, 60, 90];\nfor (const days of CHECK_INS)"], ["check_ins: [30, 60, 90]", "check_ins: CHECK_INS"]] }),
  row("a choice of three becomes ifs", /^Changes /, { "agents/dispute_resolution.ts": [['const outcome = new Decimal(credit).isZero() ? "declined" : new Decimal(credit).eq(claimed) ? "credited" : "partial";', 'let outcome = "partial";\nif (new Decimal(credit).isZero()) outcome = "declined";\nelse if (new Decimal(credit).eq(claimed)) outcome = "credited";']] }),
  row("a test case gets another name", /^Changes /, { "policies/sla_breach.yaml": [["name: second breach", "name: the second breach"]] }),
  row("words to skip in another order", null, { "importers/paypal.yaml": [["is: [Pending, Denied", "is: [Denied, Pending"]] }),
  row("some facts get a name and are spread", /^Changes /, { "agents/procurement.ts": [["const facts = { requisition_status: asked.status, total: amount, budget_left, vendor_status, conflict_of_interest };", "const known = { vendor_status, conflict_of_interest };\nconst facts = { requisition_status: asked.status, total: amount, budget_left, ...known };"]] }),
  row("two conditions change places", /^Changes /, { "agents/procurement.ts": [['vendor.approved && vendor.status === "active" ?', 'vendor.status === "active" && vendor.approved ?']] }),
  row("an object is written where it is used", /^Changes /, { "agents/ar_collections.ts": [["const nobody = { days_overdue: 0, days_without_answer: 0, disputed: false, write_off: false };\n", ""], ["[nobody]", "[{ days_overdue: 0, days_without_answer: 0, disputed: false, write_off: false }]"]] }),
  row("an order gets a name", /^Changes /, { "scripts/offboarding_records.ts": [["grants.sort((a, b) => a.revoke_order - b.revoke_order)", "grants.sort(byOrder)"], ["const { employee_id } = input;", "const { employee_id } = input;\nconst byOrder = (a: any, b: any) => a.revoke_order - b.revoke_order;"]] }),
  row("a test gets a name", null, { "scripts/pay_facts.ts": [["(line: any) => !line.approved", "isOpen"], ["const {", "const isOpen = (line: any) => !line.approved;\nconst {"]] }),
  row("a call in a map becomes a function", /^Changes /, { "agents/ar_collections.ts": [["const verdicts = judged.map((facts: any) => policy_evaluate({ facts: complete ? facts : {}, about: told }));", "const judge = (facts: any) => policy_evaluate({ facts: complete ? facts : {}, about: told });\nconst verdicts = judged.map((facts: any) => judge(facts));"]] }),
  row("a function that takes its parameter apart becomes its expression", /^Changes /, { "agents/compliance_audit.ts": [[/const task = .*\n/, ""], ["params: task(one) }", "params: { finding_id: one.finding_id, title: `Remedy: ${one.title}`, owner_id: ownerOf(one.control_id), due_on } }"]] }),
  row("a function of several statements takes over a map", /^Changes /, { "scripts/incident_calls.ts": [["suspects.map(({ deployment_id }: any) => ({", "suspects.map(undoOf);\nfunction undoOf({ deployment_id }: any) { return ({"], ["params: { deployment_id } }));", "params: { deployment_id } }); }"]] }),
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: texts of scripts
