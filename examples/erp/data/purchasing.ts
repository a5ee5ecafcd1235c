/**
 * Buying: vendors, orders, receipts, invoices, payments. INV-2024-447 is 2.2265625 % over its order, 448 exactly 2 %, 449 matches,
 * 450 comes from a vendor that is not approved, 451 repeats 449, 452 has no receipt, 453 is 3 % but only 150.00 over,
 * 454 names the order of another vendor, 455 is in dinars, 456 is a second one for an order that 453 fills, 457 is 449 spelled otherwise.
 */
import type { Table } from "../tables.ts";

export const PURCHASING: Record<string, Table> = {
  company: {
    about: "our own company with its bank account",
    get: "get_company",
    rows: `
company_id | name           | country | currency | business_date | iban                   | bic         | routing_number | account_number | ach_company_id | income_tax_pct | late_interest_pct | late_fee
CLEARED    | Cleared Goods Inc | US   | USD      | 2024-11-08    | DE02120300000000202051 | BYLADEM1001 | 021000021      | 1200345678     | 1234567890     | 21             | 9                 | 25.00`,
  },
  vendors: {
    about: "vendor with its terms",
    get: "get_vendor",
    list: "list_vendors",
    filters: ["status", "approved", "country"],
    page: "page",
    rows: `
vendor_id | name               | approved:bool | status   | country | tax_id     | terms_days:int | early_discount_pct | early_discount_days:int | late_penalty_pct_month | conflict_with
V-100     | Acme Corp          | yes           | active   | US      | 12-3456789 | 30             | 2                  | 10                      | 1.5                    | -
V-101     | Globex Supply      | yes           | active   | US      | 98-7654321 | 45             | 0                  | 0                       | 1                      | -
V-102     | Initech Trading    | no            | pending  | US      | 55-1112223 | 30             | 0                  | 0                       | 0                      | -
V-103     | Umbrella Freight   | yes           | active   | DE      | DE811234567 | 14            | 3                  | 7                       | 2                      | E-1005
V-104     | Hooli Devices      | yes           | blocked  | US      | 77-8889990 | 30             | 0                  | 0                       | 1                      | -
INFRA-9   | Infra Nine Hosting | yes           | active   | IE      | IE1234567T | 30             | 0                  | 0                       | 0                      | -`,
  },
  requisitions: {
    about: "purchase requisition",
    get: "get_requisition",
    list: "list_requisitions",
    rows: `
requisition_id | department_id | requester_id | vendor_id | description           | net_amount | tax      | shipping | needed_on  | running_cost_year | status
REQ-31         | D-OPS         | E-1042       | V-100     | 40 barcode scanners   | 4100.00    | 338.25   | 60.00    | 2024-12-02 | 120.00            | open
REQ-32         | D-OPS         | E-1005       | V-103     | Freight contract 2025 | 18500.00   | 0.00     | 0.00     | 2025-01-02 | 18500.00          | open
REQ-33         | D-IT          | E-1006       | V-101     | Storage cluster       | 61200.00   | 5049.00  | 900.00   | 2024-12-16 | 7400.00           | open
REQ-34         | D-IT          | E-1006       | V-102     | Label printers        | 2100.00    | 173.25   | 35.00    | 2024-11-25 | 0.00              | open`,
  },
  purchase_orders: {
    about: "purchase order",
    get: "get_purchase_order",
    also: ["reference", "requisition_id"],
    list: "list_purchase_orders",
    filters: ["vendor_id", "department_id", "status", "requisition_id"],
    page: "cursor",
    id: "PO-2024",
    rows: `
po_id       | reference | requisition_id | vendor_id | department_id | description        | amount   | currency | status   | ordered_on | delivery_on
PO-2024-117 | PO-8789   | REQ-12         | V-100     | D-OPS         | Belts              | 1150.00  | USD      | received | 2024-07-08 | 2024-07-29
PO-2024-118 | PO-8821   | REQ-18         | V-100     | D-OPS         | Packing line parts | 51200.00 | USD      | received | 2024-09-30 | 2024-10-28
PO-2024-119 | PO-8822   | REQ-19         | V-100     | D-OPS         | Packing line motor | 51200.00 | USD      | received | 2024-10-01 | 2024-10-28
PO-2024-120 | PO-8823   | REQ-20         | V-101     | D-IT          | Laptops, 8 units   | 11880.00 | USD      | received | 2024-10-03 | 2024-10-21
PO-2024-121 | PO-8824   | REQ-21         | V-102     | D-IT          | Cabling            | 3400.00  | USD      | received | 2024-10-07 | 2024-10-24
PO-2024-122 | PO-8825   | REQ-22         | V-103     | D-OPS         | Pallets            | 7250.00  | USD      | open     | 2024-10-15 | 2024-11-20
PO-2024-123 | PO-8826   | REQ-23         | V-103     | D-OPS         | Freight October    | 5000.00  | USD      | received | 2024-10-01 | 2024-10-31
PO-2024-124 | PO-8827   | REQ-24         | V-103     | D-OPS         | Freight September  | 5000.00  | USD      | received | 2024-09-01 | 2024-09-30
PO-2024-125 | PO-8828   | REQ-25         | V-103     | D-OPS         | Freight August     | 5000.00  | USD      | received | 2024-08-01 | 2024-08-31`,
  },
  goods_receipts: {
    about: "goods receipt of a purchase order",
    get: "get_goods_receipt",
    key: ["po_id"],
    rows: `
receipt_id | po_id       | received_on | quantity_ordered:int | quantity_received:int | accepted:bool | amount_received | inspected_by
GR-501     | PO-2024-118 | 2024-10-28  | 16                   | 16                    | yes           | 51200.00        | E-1005
GR-502     | PO-2024-119 | 2024-10-28  | 1                    | 1                     | yes           | 51200.00        | E-1005
GR-503     | PO-2024-120 | 2024-10-21  | 8                    | 8                     | yes           | 11880.00        | E-1006
GR-504     | PO-2024-121 | 2024-10-25  | 20                   | 20                    | yes           | 3400.00         | E-1006
GR-505     | PO-2024-123 | 2024-10-31  | 1                    | 1                     | yes           | 5000.00         | E-1005
GR-506     | PO-2024-124 | 2024-09-30  | 1                    | 1                     | yes           | 5000.00         | E-1005
GR-507     | PO-2024-125 | 2024-08-31  | 1                    | 1                     | yes           | 5000.00         | E-1005`,
  },
  invoices: {
    about: "supplier invoice",
    get: "get_invoice",
    list: "list_invoices",
    filters: ["vendor_id", "po_id", "status", "vendor_number"],
    day: "invoice_date",
    page: "cursor",
    rows: `
invoice_id   | vendor_id | vendor_number | po_id       | invoice_date | due_date   | amount   | currency | terms           | status   | approved_by | reason | paid_amount
INV-2024-440 | V-100     | AC-8801       | PO-2024-117 | 2024-08-02   | 2024-09-01 | 1150.00  | USD      | 2/10 net 30     | paid     | E-1001      | -      | 1150.00
INV-2024-447 | V-100     | AC-9047       | PO-2024-118 | 2024-11-04   | 2024-12-04 | 52340.00 | USD      | 2/10 net 30     | received | -           | -      | 0.00
INV-2024-448 | V-100     | AC-9048       | PO-2024-119 | 2024-11-04   | 2024-12-04 | 52224.00 | USD      | 2/10 net 30     | received | -           | -      | 0.00
INV-2024-449 | V-101     | GX-2210       | PO-2024-120 | 2024-10-28   | 2024-12-12 | 11880.00 | USD      | net 45          | received | -           | -      | 0.00
INV-2024-450 | V-102     | IT-0031       | PO-2024-121 | 2024-10-29   | 2024-11-28 | 3400.00  | USD      | net 30          | received | -           | -      | 0.00
INV-2024-451 | V-101     | GX-2210       | PO-2024-120 | 2024-11-01   | 2024-12-16 | 11880.00 | USD      | net 45          | received | -           | -      | 0.00
INV-2024-452 | V-103     | UF-7712       | PO-2024-122 | 2024-11-05   | 2024-11-19 | 7250.00  | USD      | 3/7 net 14      | received | -           | -      | 0.00
INV-2024-453 | V-103     | UF-7713       | PO-2024-123 | 2024-11-06   | 2024-11-20 | 5150.00  | USD      | 3/7 net 14      | received | -           | -      | 0.00
INV-2024-454 | V-101     | GX-2230       | PO-2024-124 | 2024-11-05   | 2024-12-20 | 5000.00  | USD      | net 45          | received | -           | -      | 0.00
INV-2024-455 | V-103     | UF-7720       | PO-2024-125 | 2024-11-03   | 2024-11-17 | 5000.00  | KWD      | 3/7 net 14      | received | -           | -      | 0.00
INV-2024-456 | V-103     | UF-7721       | PO-2024-123 | 2024-11-07   | 2024-11-21 | 400.00   | USD      | 3/7 net 14      | received | -           | -      | 0.00
INV-2024-457 | V-101     | gx 2210       | PO-2024-120 | 2024-11-02   | 2024-12-17 | 11880.00 | USD      | net 45          | received | -           | -      | 0.00`,
  },
  payments: {
    about: "payment to a vendor, scheduled or made",
    get: "get_payment",
    key: ["invoice_id"],
    list: "list_payments",
    filters: ["invoice_id", "vendor_id", "status"],
    day: "pay_date",
    page: "page",
    id: "PAY",
    rows: `
payment_id | invoice_id   | vendor_id | amount  | discount | pay_date   | status
PAY-1001   | INV-2024-440 | V-100     | 1150.00 | 0.00     | 2024-08-30 | paid`,
  },
  ap_ledger: {
    about: "line of the accounts payable ledger; positive is owed",
    list: "list_ap_ledger",
    filters: ["vendor_id", "invoice_id", "kind"],
    day: "posted_on",
    page: "cursor",
    id: "AP",
    rows: `
line_id | vendor_id | invoice_id   | kind    | amount   | posted_on
AP-1001 | V-100     | INV-2024-440 | invoice | 1150.00  | 2024-08-05
AP-1002 | V-100     | INV-2024-440 | payment | -1150.00 | 2024-08-30`,
  },
};
