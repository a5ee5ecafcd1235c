/** Which recorded runs a backtest asks models about while its budget lasts: some of each end, not the newest. */
import { afterEach, expect, test } from "vitest";
import { backtestAgent } from "../../runtime/app/evidence-api.ts";
import { backtestLines } from "../../runtime/change/evidence/words.ts";
import { closeAll, host, run, workspace } from "../engine/harness.ts";
import { fakeModel } from "./server.ts";

afterEach(closeAll);
const SORT = `/*
name: Sort
uses: [llm]
input: {text: {type: string, required: true}}
*/
const found = llm_classify({ text: input.text, classes: [{ name: "Software" }, { name: "Travel" }] });
if (input.text.includes("VOID")) throw new Error("it is void");
found;
`;

async function sorted(texts: readonly string[]) {
  const server = await fakeModel(() => '{"class": "Software"}');
  const one = await workspace({ "agents/sort.ts": SORT });
  const model = "{one: {context: 400000, max_output: 32000, prices: [{from: 2020-01-01, input: '2.00', output: '10.00'}]}}";
  one.commit({
    "trust.yaml": one
      .read("trust.yaml")
      .replace(/^models: \{\}.*$/m, `models: {local: {backend: openai, url: "${server.url}/v1"}}`)
      .replace(/slots: 2/, "slots: 1"),
    "config.yaml": `${one.read("config.yaml")}\nmodels: {small: local/one, catalogue: ${model}}\n`,
  });
  const owner = await host(one);
  for (const text of texts) await run(owner, "sort", { text });
  one.write("agents/sort.ts", SORT.replace("classes: [", 'instruction: "Be exact.", classes: ['));
  return { owner, server };
}

const some = (name: string, length: number): string[] => Array.from({ length }, (_, n) => `${name} ${n}`);

test("models are asked about runs of every end first, and the share of matching answers has its interval", async () => {
  const texts = [...some("VOID", 1), ...some("AWS", 6)];
  const { owner, server } = await sorted(texts);
  const report = await backtestAgent(owner, { agent: "sort", at: null, which: { all: true }, budget: "0.50" });
  const asked = server.asked.slice(texts.length).map(({ body }) => JSON.stringify(body.messages.at(-1)));
  expect(asked).toHaveLength(7);
  expect(asked.findIndex((text) => text.includes("VOID"))).toBeLessThan(2);
  expect(report).toMatchObject({ runs: 7, days: null, asked: { asked: 7, compared: 7, same: 7 } });
  expect(backtestLines(report).join("\n")).toContain("7 of 7 answered as recorded, which says 65 % to 100 % for all (Wilson, 95 %)");
});

test("however soon the budget ends, each end has its share of the questions, as the interval says; a missing run is reported", async () => {
  const texts = [...some("VOID", 3), ...some("AWS", 9)];
  const { owner, server } = await sorted(texts);
  const asked = { agent: "sort", at: null, budget: "0.50" };
  await backtestAgent(owner, { ...asked, which: { all: true } });
  const isVoid = server.asked.slice(texts.length).map(({ body }) => JSON.stringify(body.messages.at(-1)).includes("VOID"));
  expect([4, 8, 12].map((n) => isVoid.slice(0, n).filter(Boolean).length)).toEqual([1, 2, 3]);
  await expect(backtestAgent(owner, { ...asked, which: { runs: ["run_nope"] } })).rejects.toThrow(/There is no run "run_nope"/);
});
