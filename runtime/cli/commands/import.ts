/** `cleared import FILE…`: puts statements into import/, runs the agent that watches it, prints the receipts. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { withApi, withDryApi } from "../../app/connect.ts";
import { starterHere } from "../../app/identity.ts";
import { IMPORT } from "../../workspace/layout.ts";
import type { Command } from "../invocation.ts";
import { atWork } from "../progress.ts";
import { receiptLines } from "../text.ts";

export const run: Command = async ({ output, dir }, files, options) => {
  const dryRun = options["dryRun"] === true;
  // A statement that lies in import/ already may be named as it is called there.
  const waiting = (file: string): string | undefined => [resolve(file), join(dir, IMPORT, file)].find((path) => existsSync(path));
  const paths = files.map((file) => waiting(file) ?? resolve(file));
  const asked = { files: paths, dryRun, again: options["again"] === true, ...starterHere(dir) };
  const { receipts, left = [] } = await atWork(dryRun ? withDryApi : withApi, dir, (api) => api.import(asked), paths.length);
  output.result(receipts);
  for (const receipt of receipts) output.lines(receiptLines(output, receipt));
  for (const one of left) output.line(output.yellow(`Left in ${IMPORT}: ${one}`));
  if (dryRun) output.line("Dry run: nothing was booked.");
  return receipts.some((receipt) => receipt.refused.length > 0) ? 2 : 0;
};
