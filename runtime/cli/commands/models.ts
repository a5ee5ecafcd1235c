/** `cleared models [list|test]`: the configured models and whether they work; `cleared costs`: what was spent on them. */
import { ClearedError } from "../../kernel/errors.ts";
import { withApi, withLook } from "../../app/connect.ts";
import { readLocal, sayUnconfirmed } from "../../app/local.ts";
import { listModels } from "../../app/models.ts";
import { count } from "../../kernel/text.ts";
import { COSTS_BY, costWords } from "../../llm/costs.ts";
import type { Command } from "../invocation.ts";

export const run: Command = async ({ output, dir }, [verb = "list"]) => {
  if (verb === "test") {
    const tests = await withApi(dir, (api) => api.testModels());
    output.result(tests);
    for (const { model, roles, parts } of tests) {
      output.line(`${output.bold(model)} (${roles.join(", ")})`);
      output.rows(parts.map(({ part, ok, says }) => [`  ${ok ? output.green("ok") : output.red("!!")}`, part, says]));
    }
    return tests.every(({ parts }) => parts.every(({ ok }) => ok)) ? 0 : 4;
  }
  const local = readLocal(dir);
  sayUnconfirmed(local);
  const models = await listModels(dir, local);
  output.result(models);
  const rows = [
    ...models.servers.map(({ name, backend, where, sends, key, origin }) => [
      output.bold(name),
      `${backend} at ${where}${key === null ? "" : `, with ${key}`}`,
      `may be sent: ${sends.join(", ") || "nothing"}`,
      output.dim(origin),
    ]),
    ...models.roles.map(({ role, model, origin }) => [role, model ?? output.red("none"), "", output.dim(origin)]),
  ];
  output.rows(rows);
  for (const sentence of models.ignored) output.line(`${sentence}.`);
};

export const costs: Command = async ({ output, dir }, _, options) => {
  const by = COSTS_BY.find((one) => one === (options["by"] ?? "agent"));
  if (by === undefined) throw new ClearedError("USAGE", `--by takes one of ${COSTS_BY.join(", ")}.`);
  const rows = await withLook(dir, (_, host) => host.models.costs(by));
  output.result(rows);
  const cell = (row: (typeof rows)[0]): string[] => [
    output.bold(row.name === "" ? "(none)" : row.name),
    costWords(row),
    `${count(row.calls, "request")}${row.open > 0 ? `, ${row.open} of them without an answer, counted in full` : ""}`,
    `${row.input} tokens in (${row.cached} cached), ${row.output} out`,
  ];
  output.rows(rows.map(cell));
  if (rows.length === 0) output.line("No model has been asked yet.");
};
