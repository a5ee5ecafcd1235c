/**
 * Changes of an agent that imports and of one that pays, for evolved.slow.test.ts: ten that a quarter brings, bad ones with the reason that
 * stops each, good ones.
 */

export const PAYER = `/*
name: Pay a supplier
uses: [fsm, policy, approval, bank, compute]
process: supplier_payment
risk: medium
input: {to: {type: string, required: true}, amount: {type: money, required: true}}
states:
  ASSESS: the rate of the day
  COMPUTE: the amount
  POLICY_CHECK: the rules
  APPROVAL_GATE?: a manager looks
  MUTATE: pay it
*/
fsm_enter("ASSESS");
const { rate } = bank_rate({ day: input.to, failures: 0 });
fsm_enter("COMPUTE");
const amount = compute_percent_of({ amount: input.amount, pct: "100" }).result;
const payment = { to: input.to, amount };
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ facts: { amount, to: input.to } });
if (!verdict.passed) {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay " + input.to + " " + amount + "?", calls: [{ tool: "bank_pay", params: payment }] });
}
fsm_enter("MUTATE");
const { ref } = bank_pay(payment);
({ decision_or_status: "paid", action_taken: "paid at " + rate, key_entity: input.to, paid: amount, ref, summary: "paid " + amount });
`;
export const POLICY = `process: supplier_payment
source: template
facts: {amount: money, to: text}
thresholds: {limit: 100}
rules:
  - {id: OVER, when: "amount > threshold.limit", action: require_approval, level: manager, description: a manager looks}
  - {id: BARRED, when: "to in [EVE]", action: block, description: nobody pays Eve}
`;
export const STATEMENT = (month: string, n: number) => `Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #
DEBIT,${month}/03/2025,GITHUB *PRO SUBSCRIPTION,-4.0${n},ACH_DEBIT,,
DEBIT,${month}/04/2025,COMCAST BUSINESS INTERNET,-89.9${n},ACH_DEBIT,,
DEBIT,${month}/18/2025,AMZN MKTP US*ABC12${n},-42.9${n},ACH_DEBIT,,
DEBIT,${month}/20/2025,BLUE BOTTLE COFFEE,-4.7${n},ACH_DEBIT,,
CREDIT,${month}/22/2025,ACME CONSULTING INVOICE 104${n},3500.0${n},ACH_CREDIT,,
DEBIT,${month}/23/2025,USPS PO 123456789${n},-8.7${n},ACH_DEBIT,,
`;

export const [INGEST, PAY, PACK, CONFIG] = ["agents/ingest.ts", "agents/payer.ts", "policies/supplier_payment.yaml", "config.yaml"];
export type Change = [path: string, from: string | RegExp, to: string][];

/** What a quarter brings, in its order: none of it takes back what another has brought. */
export const TEN: [title: string, change: Change][] = [
  [
    "USPS has a name",
    [[INGEST, '{ text: "STAPLES"', '{ text: "USPS", account: 5030, vendor: "USPS", confidence: 0.6 },\n  { text: "STAPLES"']],
  ],
  ["Comcast is rent", [[INGEST, '"COMCAST", account: 5070', '"COMCAST", account: 5040']]],
  ["Say it otherwise", [[INGEST, "ctx_log(`Parsed ", "ctx_log(`Read "]]],
  ["Smaller batches", [[INGEST, /\b1000\b/g, "2"]]],
  [
    "Coffee is meals, as Lee said",
    [[INGEST, '{ text: "AWS"', '{ text: "BLUE BOTTLE", account: 5050, vendor: "Blue Bottle", confidence: 0.97 },\n  { text: "AWS"']],
  ],
  ["Tell how many files", [[INGEST, "({ imported, confirmed", "({ files: files.length, imported, confirmed"]]],
  ["Ask more clearly", [[PAY, 'title: "Pay " + input.to', 'title: "Shall we pay " + input.to']]],
  ["Ask sooner", [[PACK, "limit: 100", "limit: 90"]]],
  [
    "Look at the rate twice",
    [
      [PAY, 'fsm_enter("COMPUTE");', 'const again = bank_rate({ day: input.to, failures: 0 }).rate;\nfsm_enter("COMPUTE");'],
      [PAY, '"paid at " + rate', '"paid at " + rate + " and " + again'],
    ],
  ],
  ["Be a little surer", [[CONFIG, "auto_confirm: 0.95", "auto_confirm: 0.955"]]],
];

/** unmet: how it is told where no recorded run has met it. */
export const BAD: [what: string, change: Change, says: RegExp, unmet?: RegExp][] = [
  [
    "confirms everything",
    [[INGEST, "const sure = confidence >= threshold;", "const sure = true;"]],
    /goes to no person any more|a person has left it/,
  ],
  [
    "moves what a person confirmed",
    [[INGEST, '"AMZN", account: 5030', '"AMZN", account: 5020']],
    /AMZN.*(a person (has )?left it as|accepted as)/,
  ],
  [
    "confirms what a person rejected",
    [
      [INGEST, 'status: sure ? "auto-confirmed"', 'status: sure || !out ? "auto-confirmed"'],
      [INGEST, "if (!sure) open.push", "if (!sure && out) open.push"],
    ],
    /ACME CONSULTING.*a person (has )?left it/,
  ],
  [
    "books coffee to a third account",
    [
      [
        INGEST,
        /(\{ text: "BLUE BOTTLE".*\n {2})?\{ text: "AWS"/,
        '{ text: "BLUE BOTTLE", account: 5090, vendor: "", confidence: 0.97 },\n  { text: "AWS"',
      ],
    ],
    /BLUE BOTTLE.*a person (has )?left it/,
  ],
  [
    "forgets rows that a person decided",
    [[INGEST, "const out = row.amount", 'if (row.description.startsWith("AMZN")) continue;\n        const out = row.amount']],
    /AMZN.*(gone|not booked)/,
  ],
  ["asks later", [[PACK, /limit: \d+/, "limit: 100000"]], /without a person's approval|had ended at a person's rejection/],
  ["tells the policy another name", [[PAY, "to: input.to } });", 'to: "ACME" } });']], /had ended at a policy that blocked it/],
  ["asks for a little less than was refused", [[PAY, 'pct: "100"', 'pct: "99"']], /had ended at a person's rejection/],
  [
    "does so, and asks something new afterwards",
    [
      [PAY, 'pct: "100"', 'pct: "99"'],
      [PAY, "const { ref } = bank_pay(payment);", 'const { ref } = bank_pay(payment);\nbank_rate({ day: "never", failures: 0 });'],
    ],
    /had ended at a person's rejection/,
  ],
  ["pays twice", [[PAY, "const { ref } = bank_pay(payment);", "bank_pay(payment);\nconst { ref } = bank_pay(payment);"]], /made 2 times/],
  [
    "voids what a person confirmed",
    [
      [
        INGEST,
        "const files = importer_scan();",
        'for (const one of journal_query({ text: "AMZN", limit: 9 })) journal_void({ entry_id: one.entry_id, reason: "tidy" });\nconst files = importer_scan();',
      ],
    ],
    /becomes voided, but a person has decided it|JOURNAL|fails with/,
    /journal_void/,
  ],
  ["fails", [[INGEST, "let imported = 0;", "let imported = 0;\n  rows_of.length;"]], /./],
];

export const GOOD: [what: string, change: Change][] = [
  ["a comment", [[INGEST, "let imported = 0;", "let imported = 0; // rows that were booked"]]],
  [
    "another name for a variable",
    [
      [INGEST, /\breview\b(?=[ ,;+)}])/g, "asking"],
      [INGEST, "asking })", "review: asking })"],
    ],
  ],
  [
    "a rule for a vendor nobody has had",
    [[INGEST, "const rules = [", 'const rules = [\n  { text: "HERTZ", account: 5040, vendor: "Hertz", confidence: 0.97 },']],
  ],
  [
    "a better guess for what nobody decided",
    [[INGEST, '"GITHUB", account: 5020, vendor: "GitHub"', '"GITHUB", account: 5020, vendor: "GitHub Inc"']],
  ],
  ["other words for the same question", [[PAY, 'amount + "?"', 'amount + " now?"']]],
  ["a stricter rule", [[PACK, /limit: \d+/, "limit: 60"]]],
  ["a read that is made again", [[PAY, 'fsm_enter("ASSESS");', 'fsm_enter("ASSESS");\nbank_rate({ day: input.to, failures: 0 });']]],
  ["one more field in the answer", [[PAY, "({ decision_or_status", "({ limit_asked: !verdict.passed, decision_or_status"]]],
  [
    "the reads in another order",
    [
      [PAY, 'fsm_enter("ASSESS");\n', 'fsm_enter("ASSESS");\nconst today = input.amount;\n'],
      [PAY, "paid: amount,", "paid: amount, asked: today,"],
    ],
  ],
];

/** The policy would let everything pass; as it did not judge what is paid, a person is asked for each payment. */
export const UNJUDGED: Change = [[PAY, "facts: { amount, to", 'facts: { amount: "1.00", to']];
