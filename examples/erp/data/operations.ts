/**
 * Running the business: contracts and uptime, incidents, tickets, audits, the general ledger.
 * CTR-441 with INFRA-9: 99.1 % of 30 days in 2024-09 are 388.8 minutes down, 43.2 are allowed. 2024-09 can be closed, 2024-10 cannot yet.
 */
import type { Table } from "../tables.ts";

export const OPERATIONS: Record<string, Table> = {
  contracts: {
    about: "contract with its credit tiers",
    get: "get_contract",
    list: "list_contracts",
    filters: ["party_id", "side", "service_id", "status"],
    page: "page",
    with: { tiers: ["sla_tiers", "contract_id"] },
    rows: `
contract_id | party_id | side     | service_id | start_on   | end_on     | monthly_fee | currency | sla_target_pct | measurement_days:int | credit_cap_pct | auto_approve_limit | strategic:bool | account_current:bool | disputed:bool | status
CTR-441     | INFRA-9  | vendor   | SVC-HOST   | 2023-06-01 | 2025-05-31 | 8400.00     | USD      | 99.9           | 30                   | 30             | 5000.00            | no             | yes                  | no            | active
CTR-500     | C-300    | customer | SVC-API    | 2023-12-01 | 2025-11-30 | 12000.00    | USD      | 99.9           | 30                   | 50             | 5000.00            | yes            | yes                  | no            | active
CTR-501     | C-8821   | customer | SVC-API    | 2024-03-01 | 2025-02-28 | 1499.00     | USD      | 99.5           | 30                   | 25             | 1000.00            | no             | yes                  | no            | active
CTR-502     | C-302    | customer | SVC-API    | 2024-01-01 | 2024-12-31 | 2600.00     | USD      | 99.5           | 30                   | 25             | 1000.00            | no             | no                   | yes           | active`,
  },
  sla_tiers: {
    about: "credit owed when the uptime is below a bound",
    rows: `
contract_id | uptime_below_pct | credit_pct
CTR-441     | 99.9             | 10
CTR-441     | 99.5             | 15
CTR-441     | 99.0             | 25
CTR-500     | 99.9             | 10
CTR-500     | 99.0             | 30
CTR-501     | 99.5             | 5
CTR-502     | 99.5             | 5`,
  },
  services: {
    about: "service with its health",
    get: "get_service",
    rows: `
service_id | name         | owner_team | on_call | status   | replicas:int | circuit_breaker | revenue_per_hour | version
SVC-HOST   | Hosting      | platform   | E-1006  | healthy  | 1            | closed          | 0.00             | -
SVC-API    | Public API   | platform   | E-1006  | healthy  | 6            | closed          | 1850.00          | 4.18.0
SVC-PAY    | Card payment | payments   | E-1006  | degraded | 4            | closed          | 9200.00          | 2.7.1`,
  },
  uptime: {
    about: "measured uptime of a service in a period",
    get: "get_uptime",
    list: "list_uptime",
    key: ["service_id", "period"],
    rows: `
metric_id | service_id | period  | days:int | total_minutes:int | uptime_pct | downtime_minutes
UP-1      | SVC-HOST   | 2024-09 | 30       | 43200             | 99.1       | 388.8
UP-2      | SVC-API    | 2024-09 | 30       | 43200             | 99.2       | 345.6
UP-3      | SVC-API    | 2024-10 | 31       | 44640             | 99.95      | 22.32
UP-4      | SVC-HOST   | 2024-10 | 31       | 44640             | 99.98      | 8.928`,
  },
  sla_breaches: {
    about: "earlier breach of a contract",
    list: "list_sla_breaches",
    filters: ["contract_id", "period"],
    page: "offset",
    rows: `
breach_id | contract_id | period  | credit
BR-1      | CTR-500     | 2024-07 | 1200.00
BR-2      | CTR-500     | 2024-08 | 1200.00
BR-3      | CTR-441     | 2024-03 | 840.00`,
  },
  credits: {
    about: "service credit of a contract for a period",
    get: "get_credit",
    key: ["contract_id", "period"],
    id: "CR",
    rows: `
credit_id | contract_id | period  | amount  | reason            | applied_on | status
CR-1001   | CTR-500     | 2024-08 | 1200.00 | uptime 99.4 %     | 2024-09-05 | applied`,
  },
  incidents: {
    about: "incident with the customers it reaches",
    get: "get_incident",
    list: "list_incidents",
    filters: ["service_id", "severity", "status"],
    day: "opened_on",
    page: "cursor",
    with: { impact: ["incident_impact", "incident_id"] },
    rows: `
incident_id | service_id | severity | opened_on  | opened_at            | status   | cardholder_data:bool | summary                    | root_cause             | duration_minutes:int
INC-480     | SVC-PAY    | P2       | 2024-07-14 | 2024-07-14T09:10:00Z | resolved | no                   | Slow card confirmations    | connection pool limit  | 74
INC-501     | SVC-PAY    | P1       | 2024-11-08 | 2024-11-08T07:42:00Z | open     | yes                  | Card payments fail after deploy | -                 | -
INC-502     | SVC-API    | P3       | 2024-11-07 | 2024-11-07T15:05:00Z | open     | no                   | Report export slow         | -                      | -`,
  },
  incident_impact: {
    about: "customers of a tier reached by an incident",
    rows: `
incident_id | tier       | customers:int | weight
INC-501     | enterprise | 4             | 5
INC-501     | premium    | 21            | 3
INC-501     | standard   | 310           | 1
INC-502     | standard   | 12            | 1`,
  },
  deployments: {
    about: "deployment of a service",
    get: "get_deployment",
    list: "list_deployments",
    filters: ["service_id", "status"],
    page: "next",
    rows: `
deployment_id | service_id | version | previous_version | deployed_at          | status
DEP-90        | SVC-PAY    | 2.7.0   | 2.6.9            | 2024-10-22T10:00:00Z | superseded
DEP-91        | SVC-PAY    | 2.7.1   | 2.7.0            | 2024-11-08T07:30:00Z | live
DEP-92        | SVC-API    | 4.18.0  | 4.17.2           | 2024-11-01T09:00:00Z | live`,
  },
  tickets: {
    about: "ticket",
    get: "get_ticket",
    also: ["reference"],
    list: "list_tickets",
    filters: ["status", "assignee", "reference"],
    page: "page",
    id: "T",
    rows: `
ticket_id | reference | subject                    | assignee | priority | status | resolution
T-1001    | INC-480   | Raise pool limit           | E-1006   | high     | closed | limit is 400 now
T-1002    | E-2291    | Hand over billing-service  | E-1006   | normal   | open   | -
T-1003    | AR-3007   | Contoso disputes invoice   | E-1044   | normal   | open   | -`,
  },
  audits: {
    about: "audit with its controls and findings",
    get: "get_audit",
    list: "list_audits",
    with: { controls: ["controls", "audit_id"], findings: ["findings", "audit_id"] },
    rows: `
audit_id | title               | framework | status | score | published_on
AUD-24   | Access control 2024 | SOC 2     | draft  | -     | -`,
  },
  controls: {
    about: "control of an audit",
    list: "list_controls",
    filters: ["audit_id", "effective"],
    page: "offset",
    rows: `
control_id | audit_id | name                      | owner_id | tested_on  | effective:bool | evidence          | weight
CC6.1      | AUD-24   | Access is granted by role | E-1006   | 2024-10-02 | yes            | export of roles   | 3
CC6.2      | AUD-24   | Leavers lose access       | E-1006   | 2024-10-02 | no             | three open grants | 3
CC6.3      | AUD-24   | Access is reviewed        | E-1001   | 2024-10-03 | yes            | minutes of Q3     | 2
CC7.2      | AUD-24   | Alerts are followed       | E-1006   | -          | no             | -                 | 2`,
  },
  findings: {
    about: "finding of an audit",
    list: "list_findings",
    filters: ["audit_id", "control_id", "severity", "status"],
    page: "cursor",
    rows: `
finding_id | audit_id | control_id | severity | title                        | found_on   | repeat_of | status
FI-1       | AUD-23   | CC6.2      | high     | Access kept after leaving    | 2023-10-11 | -         | closed
FI-2       | AUD-24   | CC6.2      | high     | Access kept after leaving    | 2024-10-02 | FI-1      | open
FI-3       | AUD-24   | CC7.2      | medium   | No evidence that alerts ring | 2024-10-04 | -         | open`,
  },
  remediation_tasks: {
    about: "remediation task of a finding",
    get: "get_remediation_task",
    key: ["finding_id"],
    id: "RT",
    rows: `
task_id | finding_id | title                   | owner_id | due_on     | status
RT-1001 | FI-1       | Automate leaver process | E-1006   | 2024-01-31 | done`,
  },
  periods: {
    about: "accounting period",
    get: "get_period",
    list: "list_periods",
    rows: `
period  | status | locked_by | locked_on  | trial_balance_hash
2024-08 | locked | E-1003    | 2024-09-06 | 5b1f0c77
2024-09 | open   | -         | -          | -
2024-10 | open   | -         | -          | -`,
  },
  gl_entries: {
    about: "general ledger entry with its lines",
    get: "get_entry",
    key: ["reference"],
    list: "list_entries",
    filters: ["period", "status", "reference"],
    day: "entry_date",
    page: "cursor",
    with: { lines: ["gl_lines", "entry_id"] },
    id: "GL",
    rows: `
entry_id | reference   | period  | entry_date | memo                    | status
GL-1001  | SALES-09    | 2024-09 | 2024-09-30 | Sales September         | posted
GL-1002  | COGS-09     | 2024-09 | 2024-09-30 | Goods sold September    | posted
GL-1003  | RENT-09     | 2024-09 | 2024-09-30 | Rent September          | posted
GL-1004  | SALES-10    | 2024-10 | 2024-10-31 | Sales October           | posted
GL-1005  | RENT-10     | 2024-10 | 2024-10-31 | Rent October            | posted
GL-1006  | ADJ-10-3    | 2024-10 | 2024-10-31 | Stock adjustment        | draft`,
  },
  gl_lines: {
    about: "line of a general ledger entry",
    rows: `
entry_id | account | department_id | debit    | credit
GL-1001  | 1200    | D-SALES       | 84200.00 | 0.00
GL-1001  | 4000    | D-SALES       | 0.00     | 84200.00
GL-1002  | 5000    | D-OPS         | 37110.00 | 0.00
GL-1002  | 1400    | D-OPS         | 0.00     | 37110.00
GL-1003  | 6100    | D-OPS         | 6500.00  | 0.00
GL-1003  | 1010    | D-OPS         | 0.00     | 6500.00
GL-1004  | 1200    | D-SALES       | 91350.00 | 0.00
GL-1004  | 4000    | D-SALES       | 0.00     | 91350.00
GL-1005  | 6100    | D-OPS         | 6500.00  | 0.00
GL-1005  | 1010    | D-OPS         | 0.00     | 6500.00
GL-1006  | 5000    | D-OPS         | 1240.00  | 0.00
GL-1006  | 1400    | D-OPS         | 0.00     | 1240.00`,
  },
  gl_accounts: {
    about: "account of the general ledger",
    list: "list_gl_accounts",
    filters: ["type"],
    rows: `
account | name                     | type
1010    | Bank                     | asset
1200    | Receivables              | asset
1400    | Stock                    | asset
1700    | Accumulated depreciation | asset
2000    | Payables                 | liability
2100    | Accruals                 | liability
2200    | Income tax payable       | liability
2300    | Deferred revenue         | liability
4000    | Sales                    | income
4100    | Late charges             | income
5000    | Cost of goods            | expense
6100    | Rent                     | expense
6200    | Payroll                  | expense
6300    | Depreciation             | expense
6900    | Bad debt                 | expense
8000    | Income tax               | expense`,
  },
  reconciliations: {
    about: "reconciliation of an account for a period",
    list: "list_reconciliations",
    filters: ["period", "status"],
    page: "page",
    rows: `
reconciliation_id | period  | account | ledger_balance | statement_balance | difference | explained | status   | signed_by
RE-91             | 2024-09 | 1010    | 118400.00      | 118400.00         | 0.00       | -         | signed   | E-1001
RE-92             | 2024-09 | 1200    | 84200.00       | 84200.00          | 0.00       | -         | signed   | E-1001
RE-93             | 2024-09 | 1400    | 61290.00       | 61290.00          | 0.00       | -         | signed   | E-1001
RE-101            | 2024-10 | 1010    | 111900.00      | 111900.00         | 0.00       | -         | signed   | E-1001
RE-102            | 2024-10 | 1400    | 60050.00       | 61290.00          | -1240.00   | -         | unsigned | -`,
  },
  accruals: {
    about: "accrual of a period",
    list: "list_accruals",
    filters: ["period", "status"],
    rows: `
accrual_id | period  | description     | amount  | status
AC-1       | 2024-09 | Electricity     | 840.00  | posted
AC-2       | 2024-10 | Electricity     | 910.00  | pending
AC-3       | 2024-10 | Audit fee share | 2500.00 | pending`,
  },
  intercompany: {
    about: "intercompany balance of a period",
    list: "list_intercompany",
    filters: ["period", "matched"],
    rows: `
balance_id | period  | partner         | ours    | theirs  | matched:bool
IC-1       | 2024-09 | Cleared Goods UK | 4100.00 | 4100.00 | yes
IC-2       | 2024-10 | Cleared Goods UK | 4350.00 | 4300.00 | no`,
  },
  assets: {
    about: "fixed asset",
    list: "list_assets",
    filters: ["status"],
    day: "in_service_on",
    page: "offset",
    rows: `
asset_id | name           | cost     | salvage | life_months:int | in_service_on | status
FA-12    | Packing line   | 96000.00 | 6000.00 | 120             | 2022-03-01    | in_use
FA-13    | Laptops 2024   | 11880.00 | 0.00    | 36              | 2024-10-21    | in_use
FA-14    | Forklift       | 27500.00 | 2500.00 | 60              | 2024-09-02    | in_use`,
  },
  transactions: {
    about: "cash transaction",
    list: "list_transactions",
    filters: ["account", "kind"],
    day: "booked_on",
    page: "next",
    rows: `
transaction_id | booked_on | account | kind | amount
${cashTransactions()}`,
  },
};

/** 137 rows, so that reading them all takes several pages; they add up to 9,453.00. */
function cashTransactions(): string {
  return Array.from({ length: 137 }, (_, at) => {
    const day = String((at % 30) + 1).padStart(2, "0");
    return `TX-${String(at + 1).padStart(4, "0")} | 2024-09-${day} | 1010 | ${at % 3 === 0 ? "card" : "transfer"} | ${at + 1}.00`;
  }).join("\n");
}
