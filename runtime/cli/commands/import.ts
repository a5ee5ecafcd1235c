/** `cleared import FILE…`: put statements into import/, run what watches it, print the receipts. */
import { resolve } from "node:path";
import { withApi, withDryApi } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import { starter } from "../../app/identity.ts";
import { readLocal } from "../../app/local.ts";
import type { Invocation } from "../commands.ts";
import { withProgress } from "../progress.ts";
import { receiptLines } from "../text.ts";

export async function run(at: Invocation, [files]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const { output } = at;
  const dryRun = options["dryRun"] === true;
  const paths = (files as string[]).map((file) => resolve(file));
  const dir = findWorkspace(at.dir);
  const by = starter(dir, readLocal(dir).trust);
  const { receipts } = await (dryRun ? withDryApi : withApi)(dir, (api) =>
    withProgress(api, paths.length, () => api.import({ files: paths, dryRun, again: options["again"] === true, ...by })),
  );
  output.result(receipts);
  for (const receipt of receipts) for (const line of receiptLines(output, receipt)) output.line(line);
  if (dryRun) output.line("Dry run: nothing was booked.");
  return receipts.some((receipt) => receipt.refused.length > 0) ? 2 : 0;
}
