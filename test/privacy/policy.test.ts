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

test("health and pay data may come in but not go out, unless the workspace says so", async () => {
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

test("a task declared to contain data that is not handled does not start", async () => {
  const opened = await host(await workspace(FILES));
  await expect(run(opened, "tell", { note: "x", data_class: "restricted_financial_data" })).rejects.toMatchObject({
    code: "PRIVACY_REFUSED",
  });
});

test.each<[string, Record<string, string>, boolean]>([
  ["a line break before the word", { note: "Send me the\npassword" }, false],
  ["a tab, and quotes", { note: 'Send me the\t"password"' }, false],
  ["a name of a field that sounds like a verb", { note: "x", email: "credentials team", share: "password policy" }, true],
  ["two fields, each harmless", { note: "please send", topic: "password resets are slow" }, true],
])("a request for a secret is judged field by field: %s", async (_, input, starts) => {
  const agent = TELL.replace("{note: {", "{email: {type: string}, share: {type: string}, topic: {type: string}, note: {");
  const opened = await host(await workspace({ "agents/tell.ts": agent }));
  const started = run(opened, "tell", input);
  if (starts) expect((await started).error?.code).not.toBe("PRIVACY_REFUSED");
  else await expect(started).rejects.toMatchObject({ code: "PRIVACY_REFUSED", data: { trigger: "credential_exfiltration" } });
});

test("privacy_scan returns the text without what may not continue", async () => {
  const texts = ["Card 4111 1111 1111 1111", "SSN 123-45-6789", "Her salary: 84000.00 a year", "clean"];
  const scan = `/*
name: Scan
input: {direction: {type: string, default: outbound}}
*/
(${JSON.stringify(texts)}.map((text) => privacy_scan({ text, direction: input.direction }).redacted));
`.replace("*/", "description: test\nuses: [privacy]\n*/");
  const opened = await host(await workspace({ "agents/scan.ts": scan }));
  const end = await run(opened, "scan");
  expect(end.result, String(end.error?.message)).toEqual([
    "Card [CARD_NUMBER:1111]",
    "SSN [SSN:6789]",
    expect.not.stringContaining("84000"),
    "clean",
  ]);
  expect((await run(opened, "scan", { direction: "inbound" })).result).toEqual([
    "Card [CARD_NUMBER:1111]",
    "SSN [SSN:6789]",
    "Her salary: 84000.00 a year",
    "clean",
  ]);
});

test("no workspace setting releases a card number", async () => {
  const one = await workspace(FILES);
  one.commit({ "config.yaml": one.read("config.yaml").replace("privacy: {}", "privacy: {card: {inbound: allow, outbound: allow}}") });
  const opened = await host(one);
  await run(opened, "tell", { note: "Card 4111 1111 1111 1111" });
  expect(told(opened)).not.toContain("1111 1111");
});
