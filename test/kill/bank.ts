/** A bank as a plugin of a workspace: one act with a key, one that can be read back, one with neither. */

/** Takes its time before and after it pays, so that a kill falls in between. */
export const BANK = `import { appendFileSync, existsSync, readFileSync, statSync, truncateSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { definePrimitive, z } from "cleared";

const FILE = join(import.meta.dirname, "../.cleared/bank.jsonl");
const lines = () => (existsSync(FILE) ? readFileSync(FILE, "utf8").split("\\n").filter((line) => line !== "").map((line) => JSON.parse(line)) : []);
// Whole or not at all, as a bank elsewhere does it: on a full disk an append leaves half a line.
const book = (line) => {
  const size = existsSync(FILE) ? statSync(FILE).size : 0;
  try {
    appendFileSync(FILE, JSON.stringify(line) + "\\n");
  } catch (error) {
    if (existsSync(FILE)) truncateSync(FILE, size);
    throw error;
  }
};
const known = (what, ctx) => lines().some((line) => line.what === what && line.key === ctx.key);
const pay = (what, ms) => async (p, ctx) => {
  await sleep(ms);
  if (what !== "pay" || !known(what, ctx)) book({ what, key: ctx.key });
  await sleep(ms);
  return { ref: ctx.key.split("/")[1] };
};
const params = z.object({ to: z.string(), amount: z.string() });
const base = { access: "external", effect: "external", summary: "Pay.", params, returns: z.object({ ref: z.string() }), errors: [], dryRun: () => ({ ref: "dry" }) };
export const bank_pay = definePrimitive({ ...base, name: "bank_pay", idempotent: "key", example: 'bank_pay({ to: "A", amount: "1" })', run: pay("pay", 60) });
export const bank_send = definePrimitive({ ...base, name: "bank_send", example: 'bank_send({ to: "A", amount: "1" })', run: pay("send", 150),
  readBack: async (_, ctx) => (known("send", ctx) ? { happened: true, result: { ref: ctx.key.split("/")[1] } } : { happened: false }),
});
export const bank_wire = definePrimitive({ ...base, name: "bank_wire", example: 'bank_wire({ to: "A", amount: "1" })', run: pay("wire", 150) });
`;
