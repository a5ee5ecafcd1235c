/** "Why did this run fail, and mend it": the evidence is that the run succeeds on the new code, not that the model says so. */
import { beforeAll, expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { warmUp } from "../cli/command-line.ts";
import { type Script, asking, call, cleared, lastResult } from "./asking.ts";

beforeAll(warmUp);

const agent = (body: string) => `/*\nname: Rent\nuses: [journal]\ninput:\n  day: {type: string, required: true}\n*/\n${body}`;
const BROKEN = agent('const found = journal_query({ text: "RENT" });\n({ paid: found.length, first: found[0].amount, day: input.day });\n');
const MENDED = agent(
  'const found = journal_query({ text: "RENT" });\n({ paid: found.length, first: found[0]?.amount ?? "0.00", day: input.day });\n',
);
const WORSE = agent(
  'const found = journal_query({ text: "RENT", id: "x" });\n({ paid: found.length, first: found[0].amount, day: input.day });\n',
);
const write = (text: string) => call("write", { path: "agents/rent.ts", text });

test("a failed run that is to be repaired must succeed in the evidence, and the card says that it would", async () => {
  const scripts: Record<string, Script> = {};
  const one = await asking(scripts, { runs: false, files: { "agents/rent.ts": BROKEN } });
  const failed = await cleared(one.dir, "run", "rent", "--input", "day=1", "--json");
  const { id } = failed.json() as { id: string };
  expect(failed.code).toBe(1);
  const submit = call("submit", {
    ...{ title: "Rent is not always there", reason: "The run failed.", says: "" },
    claims: [
      { kind: "agent_changed", subject: "rent" },
      { kind: "run_mended", subject: id },
    ],
  });
  const seen: string[] = [];
  const look = (reply: ReturnType<typeof call>) => (asked: Parameters<typeof lastResult>[0]) => {
    seen.push(lastResult(asked));
    return reply;
  };
  scripts[`Why did ${id} fail, and mend it`] = [
    call("run", { id }),
    look(write(MENDED)),
    call("backtest", { agent: "rent" }),
    look(submit),
  ];
  scripts["lies"] = [write(WORSE), submit, look(call("decline", { reason: "I could not mend it." }))];
  await one.ask("lies");
  expect(seen[0]).toMatch(/run_mended.*is not true/);
  const { stdout } = await one.ask(`Why did ${id} fail, and mend it`);
  // Its calls are fields, not text: what is hidden by its key is found, and each field is cut by itself.
  expect(seen[1]).toContain('{"call":"journal_query","params":{"text":"RENT"},"result":[]');
  expect(seen[2]).toContain(`"runs_that_failed_and_now_succeed":["${id}"]`);
  expect(stdout).toMatch(/backtest of rent: .*1 that failed now succeed/);
  expect(stdout).toContain(`1 run that failed would succeed (${id})`);
  expect(stdout).toMatch(/2 claims, 2 true/);
});

test("runs that judge the draft are neither tried nor read individually, whatever the days; one named by the user is", async () => {
  const scripts: Record<string, Script> = {};
  const one = await asking(scripts, { runs: false, files: { "agents/rent.ts": MENDED } });
  const host = await openHost(one.dir, { mode: "owner" });
  const ids: string[] = [];
  try {
    const api = createApi(host);
    for (let day = 0; day < 24; day++) ids.push((await api.run({ agent: "rent", input: { day: String(day) }, dry: false, wait: true })).id);
  } finally {
    await host.close();
  }
  const seen: Record<string, unknown>[] = [];
  const keep = (asked: Parameters<typeof lastResult>[0], reply: ReturnType<typeof call>) => {
    seen.push(JSON.parse(lastResult(asked).replace(/^Error: /, "")));
    return reply;
  };
  const looks = (first: ReturnType<typeof call>, ...calls: ReturnType<typeof call>[]): Script => [
    first,
    ...[...calls, call("decline", { reason: "Seen." })].map((reply) => (asked: Parameters<typeof lastResult>[0]) => keep(asked, reply)),
  ];
  const [first = "", ...others] = ids;
  const backtests = [1, 90].map((days) => call("backtest", { agent: "rent", days }));
  scripts["all"] = looks(call("run", { id: first }), ...others.map((id) => call("run", { id })), ...backtests);
  await one.ask("all");
  const refused = ids.filter((_, i) => typeof (seen[i]?.["error"] ?? null) === "string");
  expect(refused.length).toBeGreaterThan(0);
  expect(seen.slice(24).map(({ runs }) => runs)).toEqual([24 - refused.length, 24 - refused.length]);
  expect(seen[ids.indexOf(refused[0] ?? "")]).toMatchObject({
    error: expect.stringContaining("one of the runs that judge what you write"),
  });
  seen.length = 0;
  const named = `What is wrong with ${refused[0]}?`;
  scripts[named] = looks(call("run", { id: refused[0] ?? "" }), call("backtest", { agent: "rent" }));
  await one.ask(named);
  expect(seen).toMatchObject([{ agent: "rent" }, { runs: 25 - refused.length }]);
});

test("a run refused a call for lack of a right is repaired by adding the right", async () => {
  const asks =
    '/*\nname: Look\nmutates: false\nuses: [accounts]\n*/\n({ ok: accounts_exists("5020"), at: config_get("thresholds.auto_confirm") });\n';
  const scripts: Record<string, Script> = {};
  const one = await asking(scripts, { runs: false, files: { "agents/look.ts": asks } });
  const { id } = (await cleared(one.dir, "run", "look", "--json")).json() as { id: string };
  const claims = [
    { kind: "capability", subject: "look", to: "config" },
    { kind: "run_mended", subject: id },
  ];
  scripts[`Mend ${id}`] = [
    call("write", { path: "agents/look.ts", text: asks.replace("[accounts]", "[accounts, config]") }),
    call("submit", { title: "It reads a setting", reason: "It failed.", says: "", claims }),
  ];
  expect((await one.ask(`Mend ${id}`)).stdout).toMatch(/2 claims, 2 true/);
});
