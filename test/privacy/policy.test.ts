/** config.yaml `privacy:` decides what comes in with a task and goes out in a notice; what is locked never goes out as it is. */
import { afterAll, expect, test } from "vitest";
import { closeAll, host, removeAll, run, workspace } from "../engine/harness.ts";

afterAll(async () => {
  await closeAll();
  await removeAll();
});

const TELL = `/*
name: Tell
process: tell
uses: [notify]
input: {note: {type: string, required: true}}
*/
notify_send({ to: "Pat", subject: "A note", text: input.note });
({ summary: "told" });
`;
const FILES = { "agents/tell.ts": TELL };
const told = (opened: Awaited<ReturnType<typeof host>>) => JSON.stringify(opened.cards.list().map((card) => [card.title, card.body]));

test("health and pay come in and do not go out, unless the workspace says so", async () => {
  const opened = await host(await workspace(FILES));
  await run(opened, "tell", { note: "Her salary: 84000.00 a year" });
  expect(told(opened)).toContain("A note");
  expect(told(opened)).not.toContain("84000");
  const one = await workspace(FILES);
  one.commit({ "config.yaml": one.read("config.yaml").replace("privacy: {}", "privacy: {pay: {outbound: allow}}") });
  const open = await host(one);
  await run(open, "tell", { note: "Her salary: 84000.00 a year" });
  expect(told(open)).toContain("84000");
});

test("what the workspace refuses neither comes in nor goes out", async () => {
  const one = await workspace(FILES);
  one.commit({
    "config.yaml": one.read("config.yaml").replace("privacy: {}", "privacy: {pay: {inbound: refuse}, personal: {outbound: refuse}}"),
  });
  const opened = await host(one);
  await expect(run(opened, "tell", { note: "Her salary: 84000.00 a year" })).rejects.toMatchObject({ code: "PRIVACY_REFUSED" });
  expect((await run(opened, "tell", { note: "Write to ann@example.com" })).error).toMatchObject({ code: "PRIVACY_REFUSED" });
});

test("a task declared to hold a class of data that is not handled does not start", async () => {
  const opened = await host(await workspace(FILES));
  await expect(run(opened, "tell", { note: "x", data_class: "restricted_financial_data" })).rejects.toMatchObject({
    code: "PRIVACY_REFUSED",
  });
});

test("no workspace lets a card number out", async () => {
  const one = await workspace(FILES);
  one.commit({ "config.yaml": one.read("config.yaml").replace("privacy: {}", "privacy: {card: {inbound: allow, outbound: allow}}") });
  const opened = await host(one);
  await run(opened, "tell", { note: "Card 4111 1111 1111 1111" });
  expect(told(opened)).not.toContain("1111 1111");
});
