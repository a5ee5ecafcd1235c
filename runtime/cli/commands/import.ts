/** `cleared import FILE…`: put statements into import/, run what watches it, print the receipts. */
import { resolve } from "node:path";
import { withApi, withDryApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import type { Command } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import { receiptLines } from "../text.ts";

export const run: Command = async ({ output, workspace }, [files], options) => {
  const dryRun = options["dryRun"] === true;
  const paths = (files as string[]).map((file) => resolve(file));
  const dir = workspace();
  const by = starterHere(dir);
  const { receipts } = await (dryRun ? withDryApi : withApi)(dir, (api) =>
    withProgress(api, paths.length, () => api.import({ files: paths, dryRun, again: options["again"] === true, ...by })),
  );
  output.result(receipts);
  for (const receipt of receipts) output.lines(receiptLines(output, receipt));
  if (dryRun) output.line("Dry run: nothing was booked.");
  return receipts.some((receipt) => receipt.refused.length > 0) ? 2 : 0;
};
