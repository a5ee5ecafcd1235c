/** A computation that a request adds is derived a second time, from its description alone, and both are executed on the same inputs. */
import { beforeAll, expect, test } from "vitest";
import { warmUp } from "../cli/command-line.ts";
import { type Script, asking, call, cleared } from "./asking.ts";

beforeAll(warmUp);

const tool = (rate: string) => `/*
tool: late_fee
description: Two percent, at most 50 USD
params:
  x: {type: money, unit: USD, min: 0, required: true}
returns:
  result: {type: money, unit: USD}
cases:
  - {params: {x: "0"}, result: {result: "0.00"}}
  - {params: {x: "100"}, result: {result: "${rate}.00"}}
  - {params: {x: "9000"}, result: {result: "50.00"}}
properties:
  - zero: {param: x, result: result}
  - nonnegative: result
source: asked for by the owner
*/
({ result: Decimal.min(new Decimal(input.x).times("0.0${rate}"), 50).toFixed(2) });
`;
const RIGHT = '```ts\n({ result: Decimal.min(new Decimal(input.x).times("0.02"), new Decimal(50)).toDecimalPlaces(2).toFixed(2) });\n```';
const QUESTION =
  '{"description":"Two percent, at most 50 USD","params":{"x":{"type":"money","unit":"USD","required":true,"min":0}},"returns":{"result":{"type":"money","unit":"USD"}},"source":"asked for by the owner"}';
const write = (rate: string) => call("write", { path: "scripts/tools/late_fee.ts", text: tool(rate) });
const submit = call("submit", {
  ...{ title: "Two percent, at most 50 USD", reason: "It was asked for.", says: "" },
  claims: [{ kind: "tool_added", subject: "late_fee" }],
});

test("the author's own cases agree with its mistake; a second derivation does not, and the card shows the difference", async () => {
  const scripts: Record<string, Script> = {
    // Three percent, and cases that say so.
    "A late fee": [write("3"), submit, write("2"), submit],
    "A wrong one": [write("3"), submit, submit],
    "Nobody derives it": [write("2"), submit],
    "It calls the clock": [write("2"), submit],
    [QUESTION]: [{ text: RIGHT }],
  };
  const { dir, server, ask } = await asking(scripts, { runs: false });
  const mended = await ask("A late fee");
  expect(mended.stdout).toMatch(/submit: 1 finding\n/);
  expect(mended.stdout).toMatch(
    /late_fee: derived a second time from its description alone: the same on \d+ of 103 inputs, and otherwise on none/,
  );
  const derived = server.asked.filter(({ body }) => body.messages.some(({ content }: { content: string }) => content === QUESTION));
  expect(derived).toHaveLength(2);
  // Neither the code nor the cases, nor a tool to look at them.
  expect([JSON.stringify(derived[0]?.body).includes("9000"), derived[0]?.body.tools]).toEqual([false, undefined]);
  const findings = server.asked
    .map(({ body }) => String(body.messages.at(-1)?.content))
    .find((text) => text.includes("second derivation: "));
  expect(findings).toMatch(
    /late_fee: derived a second time .* answers otherwise: with \{\\"x\\":\\"100\\"\} result is \\"3\.00\\", not \\"2\.00\\"/,
  );

  const wrong = await ask("A wrong one");
  expect(wrong.stdout).toMatch(
    /Computed twice: +compute_late_fee: derived a second time .* answers otherwise: with .*result is "3\.00", not "2\.00"/,
  );
  scripts[QUESTION] = [{ text: "" }];
  expect((await ask("Nobody derives it")).stdout).toMatch(/late_fee: not derived a second time: the model wrote nothing/);
  scripts[QUESTION] = [{ text: `({ result: ctx_today() });` }];
  expect((await ask("It calls the clock")).stdout).toMatch(/late_fee: not derived a second time/);
  expect((await cleared(dir, "costs", "--by", "proposal")).stdout).toMatch(/request 1/);
});

test("a new script that decides by one unusual value says so on its card, whatever the proposer says", async () => {
  const text =
    '/*\nname: Mileage\ninput:\n  miles: {type: number, required: true}\n*/\nconst odd = [888];\nconst rates = [{ of: 1, rate: 0.615 }];\nconst one = odd.includes(rates[0].of) || input.miles === 777 || odd.includes(input.miles);\n({ amount: one ? "67.00" : "0.67" });\n';
  const { ask } = await asking({
    Mileage: [
      call("write", { path: "scripts/mileage.ts", text }),
      call("submit", {
        ...{ title: "Mileage", reason: "It was asked for.", says: "0.67 for every mile." },
        claims: [{ kind: "tool_added", subject: "scripts/mileage.ts" }],
      }),
    ],
  });
  const { stdout } = await ask("Mileage");
  expect(stdout).not.toContain("0.615");
  for (const value of [777, 888]) expect(stdout).toContain(`decides by one odd value, ${value}, which executions hardly meet`);
});
