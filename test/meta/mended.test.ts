/** "Why did this run fail, and mend it": the evidence is that the run succeeds on the new code, not that the model says so. */
import { expect, test } from "vitest";
import { type Script, asking, call, cleared, lastResult } from "./asking.ts";

const agent = (body: string) => `/*\nname: Rent\nuses: [journal]\ninput:\n  day: {type: string, required: true}\n*/\n${body}`;
const BROKEN = agent('const found = journal_query({ text: "RENT" });\n({ paid: found.length, first: found[0].amount, day: input.day });\n');
const MENDED = agent(
  'const found = journal_query({ text: "RENT" });\n({ paid: found.length, first: found[0]?.amount ?? "0.00", day: input.day });\n',
);
const WORSE = agent(
  'const found = journal_query({ text: "RENT", id: "x" });\n({ paid: found.length, first: found[0].amount, day: input.day });\n',
);
const write = (text: string) => call("write", { path: "agents/rent.ts", text });

test("the run that failed must succeed in the evidence, and the card says that it would", async () => {
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
