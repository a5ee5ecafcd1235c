/**
 * What a model has answered to cases of test/asks, replayed through both doors (cassettes.jsonl: a line a case, with the version of the prompt
 * that was read). Ids of runs are `$RUN1` there and the day `$TODAY`: they are all that differs between two requests of one case.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readYaml } from "../../runtime/scripts/yaml-text.ts";
import { openSecrets } from "../../runtime/workspace/settings/secrets.ts";
import { ROOT, cleared, commit, workspace } from "../cli/command-line.ts";
import { type Asked, type Reply, fakeModel } from "../llm/server.ts";

type Part = { type: "text"; text: string } | { type: "tool_use"; name: string; input: object };
interface Cassette {
  case: string;
  prompt: string;
  turns: Part[][];
  /** What was answered when a computation was asked for a second time, from its description alone. */
  derived?: Part[][];
}
const CASES = join(ROOT, "test/asks");
const cassettes = readFileSync(join(import.meta.dirname, "cassettes.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Cassette);
const requestOf = (name: string): string => {
  const { value } = readYaml(readFileSync(join(CASES, `${name}.yaml`), "utf8"), { file: name, code: "CONFIG_INVALID", maxLength: 65_536 });
  return (value as { request: string }).request;
};

/** Everything but the system prompt, which has a version of its own, and the ids that a server gives to calls. */
function said({ body }: Asked): { text: string; runs: string[]; turn: number } {
  const messages = (body.messages as { role: string }[]).filter(({ role }) => role !== "system");
  const runs: string[] = [];
  const text = JSON.stringify(messages)
    .replace(/run_[0-9A-Z]{10,}/g, (id) => `$RUN${(runs.includes(id) ? runs.indexOf(id) : runs.push(id) - 1) + 1}`)
    .replace(/Today is \d{4}-\d\d-\d\d/, "Today is $TODAY")
    .replace(/("commit\\?":\\?")[0-9a-f]{40}/g, "$1$COMMIT");
  return { text, runs, turn: messages.filter(({ role }) => role === "assistant").length };
}

function replayed(asked: Asked): Reply {
  const { text, runs, turn } = said(asked);
  const found = cassettes.find(({ case: name }) => text.includes(JSON.stringify(requestOf(name).replaceAll("$1", "$RUN1")).slice(1, -1)));
  const parts = found === undefined ? cassettes.find(({ derived }) => derived !== undefined)?.derived?.[0] : found.turns[turn];
  const own = JSON.parse(JSON.stringify(parts ?? []).replace(/\$RUN(\d+)/g, (_, n) => runs[Number(n) - 1] ?? "")) as Part[];
  const texts = own.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const calls = own.flatMap((part) => (part.type === "tool_use" ? [part] : []));
  return { ...(texts.length > 0 ? { text: texts.join("") } : {}), calls };
}

test("a model's recorded answers to ten kinds of requests pass again over both protocols, with identical requests each time", async () => {
  const folder = mkdtempSync(join(tmpdir(), "cleared-asks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const { case: name } of cassettes) copyFileSync(join(CASES, `${name}.yaml`), join(folder, `${name}.yaml`));
  const seen: string[][] = [];
  for (const backend of ["anthropic", "openai"]) {
    const server = await fakeModel(replayed);
    const dir = await workspace();
    const text = (path: string) => readFileSync(join(dir, path), "utf8").replace(/^models:.*$/m, "");
    const url = backend === "openai" ? `${server.url}/v1` : server.url;
    await commit(dir, {
      "trust.yaml": `${text("trust.yaml")}\nmodels: {there: {backend: ${backend}, url: "${url}", key: "secret:there"}}\n`,
      "config.yaml": `${text("config.yaml")}\nmodels: {small: there/claude-haiku-5-5, large: there/claude-opus-5-5, judge: there/claude-opus-5-5}\n`,
    });
    await openSecrets(dir).set("there", "not-a-real-key");
    const done = await cleared(dir, "eval", "asks", folder, "--times", "1", "--json");
    const { cases } = done.json() as { cases: { name: string; tried: { wrong: string[]; unsafe: boolean; requests: number }[] }[] };
    expect(cases.map(({ name, tried: [one] }) => [name, one?.wrong, one?.unsafe])).toEqual(
      cassettes.map(({ case: name }) => [name, [], false]).sort(),
    );
    expect(server.asked).toHaveLength(cassettes.reduce((sum, { turns, derived = [] }) => sum + turns.length + derived.length, 0));
    // Texts alone: how a protocol writes calls and results is its own.
    seen.push(
      server.asked.map(
        (one) =>
          said(one)
            .text.match(/"(?:text|content|arguments)":"(?:[^"\\]|\\.)*"/g)
            ?.at(-1) ?? "",
      ),
    );
  }
  // One protocol marks a failed result, the other has words alone.
  const results = seen.map((all) => all.map((one) => one.replace(/^"\w+":/, "").replace(/^"Error: /, '"')));
  expect(results[1]).toEqual(results[0]);
}, 600_000);
