/** Run by kill.test.ts in a process of its own: owns the workspace, starts the agent once, decides as the person, and prints the run. */
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { confirm } from "../confirm.ts";

const [dir = "", agent = "", stopAt = ""] = process.argv.slice(2);
confirm(dir);
const opened = await openHost(dir, { mode: "owner", onError: () => undefined });
if (stopAt !== "") {
  // Between the commit in git and its record in the history.
  const { view } = opened.world;
  opened.world.view = async (...args) => {
    const made = await view(...args);
    return {
      ...made,
      async commit(...request) {
        const result = await made.commit(...request);
        process.kill(process.pid, "SIGKILL");
        return result;
      },
    };
  };
}
const { id } = await opened.start(agent, { cause: { kind: "command", key: "killed" }, input: {} });
process.stdout.write(`${id}\n`);
for (;;) {
  const rest = await opened.engine.result(id);
  if (rest.status !== "waiting") {
    process.stdout.write(`${rest.status} ${rest.error?.code ?? ""}\n`);
    break;
  }
  for (const card of opened.cards.list({ open: true, run: id }).filter((one) => one.gate !== null)) {
    await decideCard(opened, signAs(dir, opened.trust, { ...asked(card), decision: "approved", at: Date.now() }));
  }
}
await opened.close();
