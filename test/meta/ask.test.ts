/** `cleared ask`: one request, exactly one end, whatever the model does; and nothing it says is believed that is not computed. */
import { expect, test } from "vitest";
import { asking, call, cleared, shell, source } from "./asking.ts";

const INGEST = source("agents/ingest.ts");
const RULE = '  { text: "HETZNER", account: 5020, vendor: "Hetzner", confidence: 0.9 },\n';
const WITH_RULE = INGEST.replace('  { text: "UBER"', `${RULE}  { text: "UBER"`);
const GOOD = [
  { kind: "agent_changed", subject: "ingest" },
  { kind: "rule", subject: "HETZNER", to: "5020" },
  { kind: "nothing_else", subject: "" },
];
const submit = (claims: object[], more: object = {}) =>
  call("submit", { title: "Hetzner is software", reason: "It was asked for.", claims, says: "One rule.", ...more });

test("a rule is written, checked, tried and proposed, with its claims compared and its steps shown as they happen", async () => {
  const { dir, server, ask } = await asking([
    call("read", { path: "agents/ingest.ts" }),
    call("write", { path: "agents/ingest.ts", text: WITH_RULE }),
    call("check", {}),
    call("backtest", { agent: "ingest" }),
    submit(GOOD),
  ]);
  const done = await ask("Everything from Hetzner is Software");
  expect(done.stdout + done.stderr).toMatch(/reads agents\/ingest\.ts\n {2}writes agents\/ingest\.ts \(\d+ lines\)\n {2}checks ok\n {2}backtest of ingest: /);
  expect(done.stdout).toMatch(/Written by: fake\/hand, for request 1: 2 claims, 2 true; no line changed beside them/);
  expect(done.stdout).toMatch(/The proposer says: “One rule\.”/);
  expect(done.code).toBe(0);
  expect((await cleared(dir, "asks")).stdout).toMatch(/1 .*proposal \d+ .*Everything from Hetzner/);
  const shown = await cleared(dir, "asks", "show", "1");
  expect(shown.stdout).toMatch(/fake\/hand {2}0\.\d+ USD\n {4}read \{"path":"agents\/ingest\.ts"\}/);
  expect(server.asked).toHaveLength(5);
  // Nothing counts before a person says yes.
  expect((await shell(dir, "git show HEAD:agents/ingest.ts")).stdout).not.toContain("HETZNER");
});
