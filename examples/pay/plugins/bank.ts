/**
 * A plugin: trusted code of a workspace, named in trust.yaml. This bank is a file, payments.log; a real one would be an HTTP call that sends
 * `ctx.key` as its idempotency key, so that a payment repeated after a crash is still one payment.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { definePrimitive, positiveMoney, z } from "cleared";

const LEDGER = join(import.meta.dirname, "..", "payments.log");

export const bank_pay = definePrimitive({
  name: "bank_pay",
  effect: "external",
  access: "external",
  summary: "Pay somebody.",
  params: z.object({ to: z.string().min(1).describe("who gets it"), amount: positiveMoney.describe("in the account's currency") }),
  returns: z.object({ payment_id: z.string() }),
  errors: [],
  example: `bank_pay({ to: "ACME", amount: "1.00" })`,
  idempotent: "key",
  run: (p, ctx) => {
    const paid = existsSync(LEDGER) ? readFileSync(LEDGER, "utf8") : "";
    if (!paid.includes(`${ctx.key} `)) appendFileSync(LEDGER, `${ctx.key} ${p.amount} ${p.to}\n`);
    return { payment_id: ctx.key };
  },
  dryRun: () => ({ payment_id: "none, this is a dry run" }),
});
