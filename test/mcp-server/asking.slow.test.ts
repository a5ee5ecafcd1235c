/** What only the user's own programs get: why an entry is as it is, and requests to the meta-agent, which end in a proposal that a person decides. */
import { expect, test } from "vitest";
import type { Any } from "../a2a/client.ts";
import { asking, call, cleared, shell, source } from "../meta/asking.ts";
import { overStdio } from "./clients.ts";

const INGEST = source("agents/ingest.ts");
const HETZNER = `  { text: "HETZNER", account: 5020, vendor: "Hetzner", confidence: 0.9 },\n  { text: "UBER"`;

test("an entry is shown with its run, its calls and who decided, and a request goes from a question to a proposal", async () => {
  const { dir } = await asking({
    "Hetzner has its own rule": [
      call("ask_user", { question: "Which account is it?", options: ["Software", "Office Supplies"] }),
      call("write", { path: "agents/ingest.ts", text: INGEST.replace('  { text: "UBER"', HETZNER) }),
      call("submit", {
        ...{ title: "Hetzner is software", reason: "It was asked for.", says: "One rule." },
        claims: [
          { kind: "rule", subject: "HETZNER", to: "5020" },
          { kind: "nothing_else", subject: "" },
        ],
      }),
    ],
  });
  const client = await overStdio(dir, "2026");
  const { cards } = (await client.call("queue")).value;
  const [card] = cards.filter((one: Any) => one.kind === "entry");
  await cleared(dir, "approve", String(card.card));
  const { entry } = card.about;
  const why = (await client.call("why", { entry })).value;
  expect(why).toMatchObject({ entry: { id: entry }, run: { agent: "ingest", started: "watch", status: "done" } });
  expect(why.decisions).toMatchObject([{ card: card.card, decided: { decision: "approved", by: "Ada" } }]);
  expect(why.run.steps.map((one: Any) => one.name)).toContain("journal_add_many");
  const read = await client.client.readResource({ uri: `cleared://entries/${entry}` });
  expect(JSON.parse(read.contents[0].text).entry).toEqual(why.entry);

  expect(await client.call("ask", {})).toMatchObject({ failed: true, value: { error: { code: "USAGE" } } });
  const asked = (await client.call("ask", { text: "Hetzner has its own rule" })).value;
  expect(asked).toMatchObject({ request: 1, status: "question", end: { question: "Which account is it?" } });
  let told = (await client.call("ask", { request: 1, text: "Software" })).value;
  // Its checks may take longer than one answer.
  for (let turn = 0; turn < 10 && told.status === "working"; turn++) told = (await client.call("ask", { request: 1 })).value;
  expect(told).toMatchObject({ status: "card", end: { title: "Hetzner is software" } });
  await client.close();
  // By the person whose program asked, and nothing counts before a person has said yes.
  expect((await cleared(dir, "asks", "show", "1", "--json")).json().ask.by).toBe("Ada");
  expect((await shell(dir, "git show HEAD:agents/ingest.ts")).stdout).not.toContain("HETZNER");
});
