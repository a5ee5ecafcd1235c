/**
 * People: employees, expenses and budgets, hours and pay, access and equipment.
 * Sarah Chen (E-1042) worked 52 hours in each of two weeks: 4 days of 13 h, then 5 days of 10.4 h. E-2291 leaves on Friday.
 */
import type { Table } from "../tables.ts";

export const PEOPLE: Record<string, Table> = {
  employees: {
    about: "employee",
    get: "get_employee",
    list: "list_employees",
    filters: ["department_id", "status", "manager_id", "pay_group"],
    page: "page",
    rows: `
employee_id | name            | email                | title              | department_id | manager_id | country | state | status | pay_group   | pay_type | pay_rate  | single_expense_limit | separation  | last_day   | pto_hours | nda_on_file:bool
E-1001      | Dana Whitfield  | dana@cleared.example | Operations Manager | D-OPS         | E-1002     | US      | NY    | active | US-MONTHLY  | salary   | 9200.00   | 2000.00              | -           | -          | 96.0      | yes
E-1002      | Omar Haddad     | omar@cleared.example | VP Operations      | D-OPS         | E-1003     | US      | NY    | active | US-MONTHLY  | salary   | 14500.00  | 10000.00             | -           | -          | 120.0     | yes
E-1003      | Ingrid Solberg  | ingrid@cleared.example | CFO              | D-FIN         | -          | US      | NY    | active | US-MONTHLY  | salary   | 17000.00  | 50000.00             | -           | -          | 40.0      | yes
E-1005      | Tomas Lind      | tomas@cleared.example | Logistics Lead    | D-OPS         | E-1001     | US      | NY    | active | US-BIWEEKLY | hourly   | 36.00     | 1000.00              | -           | -          | 24.0      | yes
E-1006      | Ruth Adeyemi    | ruth@cleared.example | IT Lead            | D-IT          | E-1002     | US      | CA    | active | US-MONTHLY  | salary   | 10800.00  | 2000.00              | -           | -          | 61.5      | yes
E-1042      | Sarah Chen      | sarah@cleared.example | Line Technician   | D-OPS         | E-1001     | US      | CA    | active | US-BIWEEKLY | hourly   | 28.00     | 500.00               | -           | -          | 33.0      | yes
E-1043      | James Ortiz     | james@cleared.example | Warehouse Clerk   | D-OPS         | E-1001     | US      | NY    | active | US-BIWEEKLY | hourly   | 24.50     | 500.00               | -           | -          | 12.0      | yes
E-1044      | Priya Nair      | priya@cleared.example | Account Manager   | D-SALES       | E-1002     | GB      | -     | active | UK-MONTHLY  | salary   | 4100.00   | 1500.00              | -           | -          | 70.0      | yes
E-1045      | Lukas Braun     | lukas@cleared.example | Customer Success  | D-SALES       | E-1002     | DE      | -     | active | EU-MONTHLY  | salary   | 4800.00   | 1500.00              | -           | -          | 54.0      | yes
E-1046      | Nora Vance      | nora@cleared.example | Contractor         | D-SALES       | E-1002     | DE      | -     | active | BAD-BANK    | salary   | 3000.00   | 0.00                 | -           | -          | 0.0       | no
E-2290      | Ivan Petrov     | ivan@cleared.example | Sales Engineer     | D-SALES       | E-1002     | US      | NY    | active | US-MONTHLY  | salary   | 8700.00   | 1500.00              | termination | 2024-11-08 | 0.0       | no
E-2291      | Maya Okafor     | maya@cleared.example | Developer          | D-IT          | E-1006     | US      | CA    | active | US-MONTHLY  | salary   | 10400.00  | 1000.00              | resignation | 2024-11-15 | 42.0      | yes`,
  },
  departments: {
    about: "department",
    list: "list_departments",
    rows: `
department_id | name       | manager_id | cost_center
D-OPS         | Operations | E-1001     | 4100
D-IT          | Technology | E-1006     | 4200
D-FIN         | Finance    | E-1003     | 4300
D-SALES       | Sales      | E-1002     | 4400`,
  },
  budgets: {
    about: "budget of a department for a period",
    get: "get_budget",
    key: ["department_id", "period"],
    rows: `
budget_id | department_id | period | amount    | committed | spent
B-1       | D-OPS         | 2024   | 260000.00 | 31000.00  | 187400.00
B-2       | D-IT          | 2024   | 190000.00 | 12000.00  | 119350.00
B-3       | D-FIN         | 2024   | 60000.00  | 0.00      | 41200.00
B-4       | D-SALES       | 2024   | 85000.00  | 2500.00   | 81900.00`,
  },
  expense_policies: {
    about: "expense category with its limits",
    get: "get_expense_policy",
    key: ["category"],
    rows: `
category      | allowed:bool | limit_single | receipt_above | max_age_days:int | deductible_pct
travel        | yes          | 6000.00      | 25.00         | 30               | 100
meals         | yes          | 400.00       | 25.00         | 30               | 50
software      | yes          | 2500.00      | 0.00          | 30               | 100
training      | yes          | 8000.00      | 0.00          | 30               | 100
entertainment | no           | 0.00         | 0.00          | 30               | 0`,
  },
  expenses: {
    about: "expense claim",
    get: "get_expense",
    list: "list_expenses",
    filters: ["employee_id", "department_id", "status", "category", "report_id"],
    day: "incurred_on",
    page: "page",
    rows: `
expense_id | report_id | employee_id | department_id | category      | description            | amount  | incurred_on | submitted_on | receipt:bool | status    | approved_amount | approved_by | reason
EXP-701    | ER-70     | E-1042      | D-OPS         | travel        | Train to supplier      | 184.60  | 2024-10-29  | 2024-11-01   | yes          | submitted | -               | -           | -
EXP-702    | ER-70     | E-1042      | D-OPS         | meals         | Dinner on site         | 61.20   | 2024-10-29  | 2024-11-01   | yes          | submitted | -               | -           | -
EXP-703    | ER-71     | E-1006      | D-IT          | training      | Conference and hotel   | 2150.00 | 2024-10-24  | 2024-11-04   | yes          | submitted | -               | -           | -
EXP-704    | ER-72     | E-1044      | D-SALES       | travel        | Flights, customer week | 5400.00 | 2024-10-18  | 2024-11-05   | yes          | submitted | -               | -           | -
EXP-705    | ER-73     | E-1045      | D-SALES       | entertainment | Concert tickets        | 320.00  | 2024-11-02  | 2024-11-05   | yes          | submitted | -               | -           | -
EXP-706    | ER-74     | E-1043      | D-OPS         | travel        | Taxi                   | 48.00   | 2024-09-20  | 2024-11-05   | yes          | submitted | -               | -           | -
EXP-707    | ER-75     | E-1005      | D-OPS         | software      | Route planner          | 500.00  | 2024-11-01  | 2024-11-06   | no           | submitted | -               | -           | -
EXP-690    | ER-60     | E-1042      | D-OPS         | travel        | Train to supplier      | 184.60  | 2024-06-11  | 2024-06-14   | yes          | approved  | 184.60          | E-1001      | -`,
  },
  expense_reports: {
    about: "expense report with its claims",
    get: "get_expense_report",
    with: { expenses: ["expenses", "report_id"] },
    rows: `
report_id | employee_id | total   | status
ER-70     | E-1042      | 245.80  | submitted
ER-71     | E-1006      | 2150.00 | submitted
ER-72     | E-1044      | 5400.00 | submitted
ER-73     | E-1045      | 320.00  | submitted
ER-74     | E-1043      | 48.00   | submitted
ER-75     | E-1005      | 500.00  | submitted
ER-60     | E-1042      | 184.60  | approved`,
  },
  reimbursements: {
    about: "reimbursement of an expense",
    get: "get_reimbursement",
    key: ["expense_id"],
    id: "RMB",
    rows: `
reimbursement_id | expense_id | employee_id | amount | pay_date   | status
RMB-1001         | EXP-690    | E-1042      | 184.60 | 2024-06-28 | paid`,
  },
  hours: {
    about: "hours one employee worked on one day",
    list: "list_hours",
    filters: ["employee_id", "approved"],
    day: "work_date",
    page: "offset",
    rows: `
line_id:int | employee_id | work_date  | hours | approved:bool
1           | E-1042      | 2024-10-07 | 13.0  | yes
2           | E-1042      | 2024-10-08 | 13.0  | yes
3           | E-1042      | 2024-10-09 | 13.0  | yes
4           | E-1042      | 2024-10-10 | 13.0  | yes
5           | E-1042      | 2024-10-14 | 10.4  | yes
6           | E-1042      | 2024-10-15 | 10.4  | yes
7           | E-1042      | 2024-10-16 | 10.4  | yes
8           | E-1042      | 2024-10-17 | 10.4  | yes
9           | E-1042      | 2024-10-18 | 10.4  | yes
10          | E-1043      | 2024-10-07 | 8.0   | yes
11          | E-1043      | 2024-10-08 | 8.0   | yes
12          | E-1043      | 2024-10-09 | 8.0   | yes
13          | E-1043      | 2024-10-10 | 8.0   | yes
14          | E-1043      | 2024-10-11 | 8.0   | yes
15          | E-1043      | 2024-10-14 | 8.0   | yes
16          | E-1043      | 2024-10-15 | 8.0   | yes
17          | E-1043      | 2024-10-16 | 8.0   | yes
18          | E-1043      | 2024-10-17 | 8.0   | yes
19          | E-1043      | 2024-10-18 | 8.0   | yes
20          | E-1005      | 2024-10-07 | 8.0   | yes
21          | E-1005      | 2024-10-08 | 8.0   | yes
22          | E-1005      | 2024-10-09 | 8.0   | yes
23          | E-1005      | 2024-10-10 | 9.5   | yes
24          | E-1005      | 2024-10-11 | 8.0   | yes
25          | E-1005      | 2024-10-14 | 8.0   | yes
26          | E-1005      | 2024-10-15 | 8.0   | yes
27          | E-1005      | 2024-10-16 | 8.0   | yes
28          | E-1005      | 2024-10-17 | 8.0   | yes
29          | E-1005      | 2024-10-18 | 11.0  | yes
30          | E-1005      | 2024-10-21 | 11.0  | no`,
  },
  payroll_profiles: {
    about: "withholding, deductions and year-to-date pay of an employee",
    get: "get_payroll_profile",
    key: ["employee_id"],
    list: "list_payroll_profiles",
    filters: ["pay_group"],
    page: "page",
    rows: `
employee_id | pay_group   | currency | federal_pct | state_pct | benefits | garnishment | garnishment_order | ytd_gross | ytd_net
E-1005      | US-BIWEEKLY | USD      | 12          | 4         | 95.00    | 0.00        | -                 | 61800.00  | 45110.20
E-1042      | US-BIWEEKLY | USD      | 12          | 5         | 110.00   | 0.00        | -                 | 48900.00  | 35002.75
E-1043      | US-BIWEEKLY | USD      | 10          | 4         | 80.00    | 150.00      | NY-2024-3318      | 40180.00  | 29011.00
E-1044      | UK-MONTHLY  | GBP      | 20          | 0         | 0.00     | 0.00        | -                 | 28700.00  | 22100.00
E-1045      | EU-MONTHLY  | EUR      | 24          | 0         | 0.00     | 0.00        | -                 | 48000.00  | 33200.00
E-1046      | BAD-BANK    | EUR      | 24          | 0         | 0.00     | 0.00        | -                 | 9000.00   | 6840.00`,
  },
  bank_accounts: {
    about: "bank account an employee is paid to",
    get: "get_bank_account",
    key: ["employee_id"],
    rows: `
employee_id | holder      | iban                   | bic         | routing_number | sort_code | account_number
E-1005      | Tomas Lind  | -                      | -           | 011401533      | -         | 4482910
E-1042      | Sarah Chen  | -                      | -           | 121000248      | -         | 7750012345
E-1043      | James Ortiz | -                      | -           | 021000021      | -         | 901882345
E-1044      | Priya Nair  | GB29NWBK60161331926819 | NWBKGB2L    | -              | 601613    | 31926819
E-1045      | Lukas Braun | DE89370400440532013000 | COBADEFFXXX | -              | -         | -
E-1046      | Nora Vance  | DE88370400440532013000 | COBADEFFXXX | 021000022      | -         | 1`,
  },
  pay_runs: {
    about: "payroll run of a pay group and period",
    get: "get_pay_run",
    key: ["pay_group", "period_end"],
    id: "PR",
    rows: `
pay_run_id | pay_group   | period_start | period_end | pay_date   | gross   | net     | headcount:int | status
PR-1001    | US-BIWEEKLY | 2024-09-23   | 2024-10-06 | 2024-10-11 | 7120.00 | 5303.10 | 3             | recorded`,
  },
  access_grants: {
    about: "access of an employee to a system; lower order is revoked first",
    get: "get_access_grant",
    key: ["employee_id", "system"],
    list: "list_access_grants",
    filters: ["employee_id", "system", "status"],
    page: "cursor",
    rows: `
grant_id | employee_id | system | level  | revoke_order:int | status  | revoked_on
AG-1     | E-2291      | sso    | user   | 1                | active  | -
AG-2     | E-2291      | github | admin  | 2                | active  | -
AG-3     | E-2291      | slack  | user   | 3                | active  | -
AG-4     | E-2291      | jira   | user   | 4                | active  | -
AG-5     | E-2291      | aws    | deploy | 5                | active  | -
AG-6     | E-2290      | sso    | user   | 1                | active  | -
AG-7     | E-2290      | crm    | user   | 2                | active  | -
AG-8     | E-2290      | vpn    | user   | 3                | revoked | 2024-10-01`,
  },
  equipment: {
    about: "piece of equipment",
    get: "get_equipment",
    list: "list_equipment",
    filters: ["employee_id", "status"],
    page: "page",
    rows: `
equipment_id | name            | serial     | employee_id | status      | value
EQ-210       | Laptop 14 inch  | SN-77A-210 | E-2291      | checked_out | 1485.00
EQ-211       | Security key    | SN-YK-211  | E-2291      | checked_out | 50.00
EQ-212       | Laptop 16 inch  | SN-77A-212 | E-2290      | checked_out | 1790.00
EQ-213       | Laptop 14 inch  | SN-77A-213 | -           | in_stock    | 1485.00`,
  },
  owned_items: {
    about: "document, repository or customer that somebody owns",
    get: "get_owned_item",
    list: "list_owned_items",
    filters: ["owner_id", "kind"],
    page: "next",
    rows: `
item_id | kind       | name              | owner_id
OI-1    | repository | billing-service   | E-2291
OI-2    | document   | Runbook checkout  | E-2291
OI-3    | dashboard  | Latency by region | E-2291
OI-4    | customer   | C-301             | E-2290`,
  },
  final_pays: {
    about: "final pay of an employee who leaves",
    get: "get_final_pay",
    key: ["employee_id"],
    id: "FP",
    rows: `
final_pay_id | employee_id | pto_hours | amount  | pay_date   | status
FP-1001      | E-0990      | 10.0      | 312.50  | 2024-03-29 | recorded`,
  },
  approvers: {
    about: "step of a department's approval chain",
    rows: `
department_id | step:int | role          | employee_id | up_to
D-OPS         | 1        | manager       | E-1001      | 500.00
D-OPS         | 2        | vp            | E-1002      | 5000.00
D-OPS         | 3        | cfo           | E-1003      | -
D-IT          | 1        | manager       | E-1006      | 500.00
D-IT          | 2        | vp            | E-1002      | 5000.00
D-IT          | 3        | cfo           | E-1003      | -
D-SALES       | 1        | vp            | E-1002      | 5000.00
D-SALES       | 2        | cfo           | E-1003      | -
D-FIN         | 1        | cfo           | E-1003      | -`,
  },
};
