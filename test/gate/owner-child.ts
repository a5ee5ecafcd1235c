/** Run by lost.slow.test.ts in a process of its own: owns the workspace, starts an agent once, says yes to its gates, prints the run. */
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { confirm } from "../confirm.ts";

const [dir = "", agent = "", input = "{}"] = process.argv.slice(2);
confirm(dir);
const opened = await openHost(dir, { mode: "owner", onError: () => undefined });
const { id } = await opened.start(agent, { cause: { kind: "command", key: "lost" }, input: JSON.parse(input) });
process.stdout.write(`${id}\n`);
while ((await opened.engine.result(id)).status === "waiting") {
  for (const card of opened.cards.list({ open: true, run: id }))
    await decideCard(opened, signAs(dir, opened.trust, { ...asked(card), decision: "approved", at: Date.now() }));
}
await opened.close();
