/**
 * Orders, stock and subscriptions. ORD-5592 of C-8821 has 5 of Widget A; 12 of Widget B are in stock.
 */
import type { Table } from "../tables.ts";

export const ORDERS: Record<string, Table> = {
  orders: {
    about: "customer order with its lines",
    get: "get_order",
    list: "list_orders",
    with: { lines: ["order_lines", "order_id"] },
    rows: `
order_id | customer_id | ordered_on | status | total    | currency | ship_zone | tax_jurisdiction | discount_pct
ORD-5590 | C-300       | 2024-10-30 | placed | 13450.00 | USD      | Z2        | US-NY            | 5
ORD-5591 | C-302       | 2024-11-04 | placed | 345.00   | USD      | Z3        | GB               | 0
ORD-5592 | C-8821      | 2024-11-06 | placed | 134.50   | USD      | Z1        | US-CA            | 0
ORD-5593 | C-8821      | 2024-11-07 | placed | 1150.00  | USD      | Z1        | US-CA            | 0`,
  },
  order_lines: {
    about: "line of an order",
    rows: `
order_id | sku      | quantity:int | unit_price
ORD-5590 | WIDGET-A | 500          | 19.90
ORD-5590 | GADGET-X | 50           | 70.00
ORD-5591 | WIDGET-B | 10           | 34.50
ORD-5592 | WIDGET-A | 5            | 19.90
ORD-5592 | CASE-S   | 7            | 5.00
ORD-5593 | GADGET-Y | 10           | 115.00`,
  },
  inventory: {
    about: "stock of an article",
    get: "get_inventory",
    list: "list_inventory",
    rows: `
sku      | name     | on_hand:int | reserved:int | backordered:int | weight_kg
WIDGET-A | Widget A | 812         | 40           | 0               | 0.40
WIDGET-B | Widget B | 12          | 0            | 0               | 0.75
GADGET-X | Gadget X | 64          | 10           | 0               | 2.10
GADGET-Y | Gadget Y | 4           | 0            | 6               | 3.25
CASE-S   | Case S   | 240         | 0            | 0               | 0.20`,
  },
  price_book: {
    about: "price of an article",
    get: "get_price",
    key: ["sku"],
    rows: `
sku      | unit_price | currency | valid_from
WIDGET-A | 19.90      | USD      | 2024-01-01
WIDGET-B | 34.50      | USD      | 2024-01-01
GADGET-X | 70.00      | USD      | 2024-07-01
GADGET-Y | 115.00     | USD      | 2024-07-01
CASE-S   | 5.00       | USD      | 2024-01-01`,
  },
  shipping_rates: {
    about: "shipping rate by zone and weight",
    list: "list_shipping_rates",
    filters: ["zone"],
    page: "offset",
    rows: `
rate_id:int | zone | up_to_kg | price
1           | Z1   | 5        | 8.50
2           | Z1   | 50       | 24.00
3           | Z2   | 5        | 12.00
4           | Z2   | 500      | 310.00
5           | Z3   | 5        | 28.00
6           | Z3   | 50       | 96.00`,
  },
  tax_rates: {
    about: "sales tax of a jurisdiction",
    get: "get_tax_rate",
    list: "list_tax_rates",
    rows: `
jurisdiction | rate_pct | valid_from
US-CA        | 7.25     | 2024-01-01
US-NY        | 8.875    | 2024-01-01
GB           | 20       | 2024-01-01
DE           | 19       | 2024-01-01`,
  },
  reservations: {
    about: "stock reserved for an order",
    get: "get_reservation",
    key: ["order_id", "sku"],
    id: "RS",
    rows: `
reservation_id | order_id | sku      | quantity:int | status
RS-1001        | ORD-5560 | WIDGET-A | 40           | reserved
RS-1002        | ORD-5561 | GADGET-X | 10           | reserved`,
  },
  shipments: {
    about: "shipment of an order",
    get: "get_shipment",
    key: ["order_id"],
    id: "SH",
    rows: `
shipment_id | order_id | carrier          | ship_on    | status
SH-1001     | ORD-5540 | Umbrella Freight | 2024-10-11 | delivered`,
  },
  charges: {
    about: "charge to a customer by our reference",
    get: "get_charge",
    key: ["reference"],
    id: "CH",
    rows: `
charge_id | reference | customer_id | amount | charged_on | status
CH-1001   | ORD-5540  | C-8821      | 412.20 | 2024-10-11 | captured`,
  },
  refunds: {
    about: "refund to a customer by our reference",
    get: "get_refund",
    key: ["reference"],
    id: "RF",
    rows: `
refund_id | reference | customer_id | amount | refunded_on | status
RF-1001   | ORD-5511  | C-8821      | 19.90  | 2024-09-02  | paid`,
  },
  plans: {
    about: "subscription plan",
    get: "get_plan",
    list: "list_plans",
    rows: `
plan_id    | name       | price_month | seats_included:int | features                                | termination_fee_pct
BASIC      | Basic      | 99.00       | 5                  | reports                                 | 0
PRO        | Pro        | 499.00      | 25                 | reports, api, audit_log                 | 10
ENTERPRISE | Enterprise | 1499.00     | 200                | reports, api, audit_log, sso, data_lake | 15`,
  },
  subscriptions: {
    about: "subscription of a customer with its features",
    get: "get_subscription",
    list: "list_subscriptions",
    with: { features: ["features", "subscription_id"], usage: ["usage", "subscription_id"] },
    rows: `
subscription_id | customer_id | plan_id    | status | period_start | period_end | effective_on | seats:int | balance_due | contract_end
SUB-77          | C-300       | PRO        | active | 2024-11-01   | 2024-11-30 | 2023-12-01   | 18        | 0.00        | 2024-11-30
SUB-78          | C-8821      | ENTERPRISE | active | 2024-11-01   | 2024-11-30 | 2024-03-01   | 60        | 0.00        | 2025-02-28
SUB-79          | C-302       | PRO        | active | 2024-11-01   | 2024-11-30 | 2024-01-01   | 9         | 499.00      | 2024-12-31`,
  },
  features: {
    about: "feature of a subscription",
    get: "get_feature",
    key: ["subscription_id", "feature"],
    rows: `
feature_id | subscription_id | feature   | enabled:bool | stored_gb:int
F-1        | SUB-77          | reports   | yes          | 4
F-2        | SUB-77          | api       | yes          | 0
F-3        | SUB-77          | audit_log | yes          | 12
F-4        | SUB-78          | reports   | yes          | 9
F-5        | SUB-78          | sso       | yes          | 0
F-6        | SUB-78          | data_lake | yes          | 640
F-7        | SUB-79          | reports   | yes          | 1`,
  },
  deferred_revenue: {
    about: "contract paid ahead, earned evenly over its months",
    list: "list_deferred_revenue",
    filters: ["customer_id"],
    page: "page",
    rows: `
deferral_id | customer_id | amount   | months:int | start_on
DR-1        | C-300       | 12000.00 | 12         | 2024-07-01
DR-2        | C-8821      | 1000.00  | 3          | 2024-08-01
DR-3        | C-302       | 600.00   | 6          | 2024-02-01`,
  },
  usage: {
    about: "usage of a subscription",
    list: "list_usage",
    filters: ["subscription_id"],
    rows: `
usage_id:int | subscription_id | meter     | used:int | included:int
1            | SUB-77          | api_calls | 41200    | 100000
2            | SUB-77          | seats     | 18       | 25
3            | SUB-78          | api_calls | 980      | 1000000
4            | SUB-78          | seats     | 60       | 200`,
  },
};
