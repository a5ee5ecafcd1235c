/** `cleared tools [list|test|show] [NAMES...]`: the synthesized tools of scripts/tools/ on disk. */
import { ClearedError } from "../../kernel/errors.ts";
import { withAnyApi } from "../../app/connect.ts";
import type { Command } from "../invocation.ts";
import { type Output, formatError, table } from "../output.ts";
import { caseLine } from "../text.ts";
import type { ToolFact } from "../../app/tool-list.ts";
import { changesHere } from "../../app/work-tree.ts";

export const run: Command = async ({ output, dir }, [verb = "list", ...names]) => {
  if (verb === "show" && names.length === 0)
    throw new ClearedError("USAGE", "Name a tool: `cleared tools show NAME`; `cleared tools` lists them.");
  const files = Object.fromEntries((await changesHere(dir)).files);
  const { tools, findings, cases } = await withAnyApi(dir, (api) => api.tools({ files, names, test: verb === "test" }));
  output.result({ tools, findings, ...(verb === "test" ? { cases } : {}) });
  if (verb === "list") output.rows(tools.map((one) => [output.bold(one.name), one.description, `${one.cases} cases`, callersOf(one)]));
  if (verb === "show") for (const one of tools) show(output, one);
  for (const { tool, case: what, failure } of cases) output.line(caseLine(output, `${tool}: ${what}`, failure));
  for (const { code, at, message } of findings) output.text(formatError({ code, at, message }, dir));
  if (tools.length === 0 && findings.length === 0) output.line("There are no tools in scripts/tools/.");
  else if (verb === "test")
    output.line(
      `${cases.filter((one) => one.failure === null).length} of ${cases.length} cases passed, ${findings.length} finding${findings.length === 1 ? "" : "s"}`,
    );
  return findings.length > 0 ? 1 : 0;
};

const callersOf = ({ callers }: ToolFact): string =>
  callers.length === 0 ? "nothing calls it" : callers.map(({ file, line }) => `${file}:${line}`).join(", ");

function show(output: Output, one: ToolFact): void {
  output.line(`${output.bold(one.name)}  ${one.description}  ${output.dim(one.file)}`);
  const rows = (fields: ToolFact["params"]) => table(fields.map(([name, type, about]) => [`  ${name}`, type, about]));
  output.lines([...rows(one.params), "answers", ...rows(one.returns)]);
  output.line(`${one.cases} cases. ${one.properties.join(", ")}`);
  output.line(`source: ${one.source}`);
  output.line(`called by: ${callersOf(one)}`);
}
