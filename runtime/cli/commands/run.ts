/** `cleared run NAME`: start an agent at HEAD and wait until it has ended or waits for a person. */
import { withApi, withDryApi } from "../connect.ts";
import { findWorkspace } from "../find.ts";
import type { Invocation } from "../main.ts";
import { printRun } from "../print-run.ts";
import { withProgress } from "../progress.ts";
import { parseJson } from "../text.ts";

export async function run(at: Invocation, [agent]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const dir = findWorkspace(at.dir);
  const dry = options["dryRun"] === true;
  const input = parseJson(options["input"] as string | undefined, "--input");
  const key = options["key"] as string | undefined;
  const record = await (dry ? withDryApi : withApi)(dir, (api) =>
    withProgress(api, null, () =>
      api.run({ agent: String(agent), input, dry, wait: options["wait"] !== false, ...(key === undefined ? {} : { key }) }),
    ),
  );
  return printRun(at.output, record, dir);
}
