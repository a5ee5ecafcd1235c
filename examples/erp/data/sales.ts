/**
 * Customers with their KYC papers, receivables, disputes, onboarding. AR invoices fall into every bucket of age on 2024-11-08;
 * in KYC C-8821 and C-300 are complete, C-301 lacks a paper, C-302 has two too old, C-303 is PEP, C-304 sanctioned, C-305 of a listed country.
 */
import type { Table } from "../tables.ts";

export const SALES: Record<string, Table> = {
  customers: {
    about: "customer",
    get: "get_customer",
    list: "list_customers",
    filters: ["status", "risk_rating", "country", "tier"],
    page: "cursor",
    rows: `
customer_id | name               | email                 | country | tier       | status    | risk_rating | pep:bool | sanctions_hit:bool | credit_limit | credit_hold:bool | strategic:bool | payment_method | csm
C-8821      | Brightline Stores  | ap@brightline.example | US      | standard   | active    | low         | no       | no                 | 20000.00     | no               | no             | card           | E-1045
C-300       | Northwind Retail   | fin@northwind.example | US      | enterprise | active    | low         | no       | no                 | 80000.00     | no               | yes            | transfer       | E-1045
C-301       | Fabrikam Foods     | pay@fabrikam.example  | DE      | standard   | active    | medium      | no       | no                 | 15000.00     | no               | no             | transfer       | E-1044
C-302       | Contoso Clinics    | ap@contoso.example    | GB      | standard   | active    | medium      | no       | no                 | 25000.00     | yes              | no             | transfer       | E-1044
C-303       | Litware Holdings   | cfo@litware.example   | CH      | premium    | active    | high        | yes      | no                 | 40000.00     | no               | no             | transfer       | E-1044
C-304       | Tailspin Trading   | ops@tailspin.example  | AE      | standard   | active    | high        | no       | yes                | 0.00         | yes              | no             | transfer       | -
C-305       | Proseware Minerals | fin@proseware.example | IR      | standard   | active    | medium      | no       | no                 | 0.00         | no               | no             | transfer       | -
C-310       | Alpine Ski House   | hello@alpine.example  | US      | standard   | signed    | low         | no       | no                 | 10000.00     | no               | no             | card           | -
C-311       | Coho Winery        | desk@coho.example     | US      | standard   | signed    | low         | no       | no                 | 10000.00     | no               | no             | -              | -`,
  },
  kyc_requirements: {
    about: "document a customer of a risk rating must hold",
    list: "list_kyc_requirements",
    filters: ["risk_rating"],
    page: "page",
    rows: `
requirement_id:int | risk_rating | document_type     | max_age_days:int
1                  | low         | registration      | 1095
2                  | low         | proof_of_address  | 365
3                  | medium      | registration      | 1095
4                  | medium      | proof_of_address  | 365
5                  | medium      | ownership         | 730
6                  | high        | registration      | 730
7                  | high        | proof_of_address  | 180
8                  | high        | ownership         | 365
9                  | high        | source_of_funds   | 365`,
  },
  kyc_documents: {
    about: "KYC document held for a customer",
    list: "list_kyc_documents",
    filters: ["customer_id", "document_type", "verified"],
    day: "issued_on",
    page: "offset",
    rows: `
document_id | customer_id | document_type    | issued_on  | expires_on | verified:bool
KD-1        | C-8821      | registration     | 2023-02-10 | -          | yes
KD-2        | C-8821      | proof_of_address | 2024-06-01 | -          | yes
KD-3        | C-300       | registration     | 2022-09-15 | -          | yes
KD-4        | C-300       | proof_of_address | 2024-02-20 | -          | yes
KD-5        | C-301       | registration     | 2023-05-02 | -          | yes
KD-6        | C-301       | proof_of_address | 2024-08-19 | -          | yes
KD-7        | C-302       | registration     | 2023-01-11 | -          | yes
KD-8        | C-302       | proof_of_address | 2023-03-30 | -          | yes
KD-9        | C-302       | ownership        | 2023-12-01 | 2024-10-31 | yes
KD-10       | C-303       | registration     | 2023-11-20 | -          | yes
KD-11       | C-303       | proof_of_address | 2024-09-01 | -          | yes
KD-12       | C-303       | ownership        | 2024-04-12 | -          | yes
KD-13       | C-303       | source_of_funds  | 2024-05-06 | -          | yes
KD-14       | C-304       | registration     | 2024-01-08 | -          | yes
KD-15       | C-304       | proof_of_address | 2024-01-08 | -          | no
KD-16       | C-305       | registration     | 2024-03-03 | -          | yes
KD-17       | C-305       | proof_of_address | 2024-03-03 | -          | yes
KD-18       | C-305       | ownership        | 2024-03-03 | -          | yes`,
  },
  listed_countries: {
    about: "country on a high-risk list",
    list: "list_listed_countries",
    rows: `
country | list                    | since
IR      | FATF call for action    | 2020-02-21
KP      | FATF call for action    | 2020-02-21
MM      | FATF call for action    | 2022-10-21`,
  },
  edd_cases: {
    about: "enhanced due diligence case of a customer",
    get: "get_edd_case",
    key: ["customer_id"],
    id: "EDD",
    rows: `
case_id  | customer_id | reason              | opened_on  | status
EDD-1001 | C-299       | adverse media check | 2024-02-14 | closed`,
  },
  ar_invoices: {
    about: "invoice to a customer",
    get: "get_ar_invoice",
    list: "list_ar_invoices",
    filters: ["customer_id", "status", "disputed"],
    day: "due_on",
    page: "cursor",
    with: { payments: ["receipts", "ar_invoice_id"] },
    rows: `
ar_invoice_id | customer_id | issued_on  | due_on     | amount   | balance  | currency | disputed:bool | status      | written_off | agency
AR-3001       | C-8821      | 2024-10-20 | 2024-11-19 | 1840.00  | 1840.00  | USD      | no            | open        | 0.00        | -
AR-3002       | C-8821      | 2024-09-25 | 2024-10-25 | 2210.50  | 2210.50  | USD      | no            | open        | 0.00        | -
AR-3003       | C-300       | 2024-09-01 | 2024-10-01 | 12480.00 | 12480.00 | USD      | yes           | open        | 0.00        | -
AR-3004       | C-300       | 2024-08-01 | 2024-08-31 | 9900.00  | 0.00     | USD      | no            | paid        | 0.00        | -
AR-3005       | C-301       | 2024-08-05 | 2024-09-04 | 6400.00  | 4400.00  | USD      | no            | open        | 0.00        | -
AR-3006       | C-301       | 2024-07-20 | 2024-08-19 | 1250.00  | 1250.00  | USD      | no            | open        | 0.00        | -
AR-3007       | C-302       | 2024-05-10 | 2024-06-09 | 8150.00  | 8150.00  | USD      | no            | open        | 0.00        | -
AR-3008       | C-302       | 2024-09-15 | 2024-10-15 | 990.00   | 990.00   | USD      | no            | open        | 0.00        | -
AR-3009       | C-304       | 2023-12-01 | 2023-12-31 | 3300.00  | 3300.00  | USD      | no            | open        | 0.00        | -
AR-3010       | C-303       | 2024-10-30 | 2024-11-29 | 7000.00  | 7000.00  | USD      | no            | open        | 0.00        | -`,
  },
  receipts: {
    about: "payment received from a customer",
    list: "list_receipts",
    filters: ["customer_id", "ar_invoice_id"],
    day: "received_on",
    page: "offset",
    rows: `
receipt_id | customer_id | ar_invoice_id | amount  | received_on
RC-1       | C-300       | AR-3004       | 9900.00 | 2024-08-29
RC-2       | C-301       | AR-3005       | 2000.00 | 2024-10-02`,
  },
  disputes: {
    about: "dispute of an invoice",
    get: "get_dispute",
    list: "list_disputes",
    filters: ["customer_id", "status", "ar_invoice_id"],
    day: "filed_on",
    page: "page",
    rows: `
dispute_id | customer_id | ar_invoice_id | reason                  | claimed  | filed_on   | evidence          | cycle_days:int | unused_days:int | status | outcome | decided_credit
D-410      | C-300       | AR-3003       | 8 of 40 units damaged   | 2496.00  | 2024-10-12 | photos, carrier   | 30             | 0               | open   | -       | -
D-411      | C-8821      | AR-3002       | billed after cancelling | 736.83   | 2024-11-01 | mail of 15 Oct    | 30             | 10              | open   | -       | -
D-412      | C-302       | AR-3007       | never ordered           | 8150.00  | 2024-10-20 | -                 | 30             | 0               | open   | -       | -`,
  },
  deliveries: {
    about: "delivery record of an invoice",
    get: "get_delivery",
    key: ["ar_invoice_id"],
    rows: `
delivery_id | ar_invoice_id | delivered_on | units:int | damaged:int | signed_by
DL-1        | AR-3003       | 2024-09-04   | 40        | 8           | Northwind dock 2
DL-2        | AR-3002       | 2024-09-27   | 12        | 0           | Brightline desk
DL-3        | AR-3007       | 2024-05-13   | 20        | 0           | Contoso reception`,
  },
  credit_memos: {
    about: "credit memo for a dispute",
    get: "get_credit_memo",
    key: ["dispute_id"],
    id: "CM",
    rows: `
memo_id | dispute_id | ar_invoice_id | amount | reason          | issued_on  | status
CM-1001 | D-380      | AR-2880       | 120.00 | short shipment  | 2024-05-17 | issued`,
  },
  reminders: {
    about: "reminder sent to a customer",
    get: "get_reminder",
    key: ["customer_id", "tier"],
    id: "RM",
    rows: `
reminder_id | customer_id | tier     | subject                  | sent_on    | status
RM-1001     | C-302       | reminder | Your invoice AR-3007     | 2024-07-12 | sent
RM-1002     | C-302       | notice   | Formal notice AR-3007    | 2024-08-12 | sent`,
  },
  payment_plans: {
    about: "payment plan of a customer",
    get: "get_payment_plan",
    key: ["customer_id"],
    id: "PLAN",
    rows: `
plan_id   | customer_id | amount  | installments:int | start_on   | status
PLAN-1001 | C-290       | 1500.00 | 3                | 2024-02-01 | finished`,
  },
  accounts: {
    about: "account provisioned for a customer",
    get: "get_account",
    key: ["customer_id"],
    id: "ACC",
    rows: `
account_id | customer_id | plan_id | region | created_on | status
ACC-1001   | C-300       | PRO     | us     | 2023-12-01 | active`,
  },
  onboarding_items: {
    about: "item of a customer's onboarding checklist",
    list: "list_onboarding_items",
    filters: ["customer_id", "done"],
    page: "page",
    rows: `
item_id:int | customer_id | item            | done:bool
1           | C-310       | contract signed | yes
2           | C-310       | payment method  | yes
3           | C-310       | data agreement  | yes
4           | C-311       | contract signed | yes
5           | C-311       | payment method  | no
6           | C-311       | data agreement  | no`,
  },
  projects: {
    about: "onboarding project of a customer",
    get: "get_project",
    key: ["customer_id"],
    id: "PRJ",
    rows: `
project_id | customer_id | name                | kickoff_on | lead_id | status
PRJ-1001   | C-300       | Northwind go-live   | 2023-12-04 | E-1045  | done`,
  },
};
