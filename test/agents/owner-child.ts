/** Run by faults.slow.test.ts in a process of its own: owns the workspace, reconciles an invoice, decides as its person, and waits to be killed. */
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { confirm } from "../confirm.ts";

const [dir = ""] = process.argv.slice(2);
confirm(dir);
const host = await openHost(dir, { mode: "owner", onError: () => undefined });
const { id } = await host.start("invoice_reconciliation", {
  cause: { kind: "command", key: "killed" },
  input: { invoice_id: "INV-2024-447" },
});
process.stdout.write(`${id}\n`);
// A slow call waits, too: only a card with a gate is the question.
for (;;) {
  const card = host.cards.list({ open: true, run: id }).find((one) => one.gate !== null);
  if (card !== undefined) {
    await decideCard(host, signAs(dir, host.trust, { ...asked(card), decision: "approved", at: Date.now() }));
    break;
  }
  await new Promise((next) => setTimeout(next, 20));
}
setInterval(() => undefined, 1000);
