/**
 * `cleared undo WHAT`: shows what would be reverted, with the money; after a confirmation, reverts it in one commit. `cleared revive NAME`:
 * books rows again that somebody deleted from the books.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { UndoPlan } from "../../change/proposals/undo-plan.ts";
import { RECEIPTS } from "../../workspace/layout.ts";
import { withApi } from "../../app/connect.ts";
import { deciderHere } from "../../app/identity.ts";
import { printable } from "../../kernel/text.ts";
import type { Command } from "../invocation.ts";
import { type Output, table } from "../output.ts";
import { saysYes } from "../terminal.ts";

export const run: Command = async ({ output, dir }, [target = ""], options) => {
  const reason = options["reason"] === undefined ? {} : { reason: String(options["reason"]) };
  const isDry = options["dryRun"] === true;
  const plan = await withApi(dir, (api) => api.planUndo({ target }));
  if (isDry) output.result(plan);
  if (!output.json || isDry) output.lines(planLines(output, plan));
  if (isDry) {
    output.line("Dry run: nothing was changed.");
    return 0;
  }
  const by = deciderHere(dir);
  // Whoever confirms has seen the plan.
  const isShown = process.stdout.isTTY && !output.json;
  if (options["yes"] !== true && !(isShown && (await saysYes("Undo it?"))))
    throw new ClearedError("USAGE", "Nothing was undone: answer y here, or use --yes. --dry-run only shows it.");
  const done = await withApi(dir, (api) => api.undo({ target, by, seen: plan.seen, ...reason }));
  output.result(done);
  output.line(`Undone: commit ${done.commit.slice(0, 7)}. \`cleared undo ${done.commit.slice(0, 7)}\` brings it back.`);
};

const CHANGES = { restored: "comes back", removed: "goes", changed: "as it was before" } as const;
// A year of a large import has some hundred sums; the first are enough for a reader.
const SHOWN = 40;

function planLines(output: Output, { title, commits, files, money, entries, statements, notes }: UndoPlan): string[] {
  const { removed, reversed, restored } = entries;
  const counts = [
    removed > 0 ? `${removed} removed` : "",
    reversed > 0 ? `${reversed} reversed` : "",
    restored > 0 ? `${restored} as before` : "",
  ].filter((one) => one !== "");
  const sums = money.map((one) => [one.month, one.account, `${one.was} -> ${one.now}`, `${sign(one.difference)} ${one.currency}`]);
  return [
    `${output.bold(printable(title))}  ${commits.map((commit) => commit.slice(0, 7)).join(" ")}`,
    ...table(files.filter(({ path }) => !path.startsWith(RECEIPTS)).map(({ path, change }) => [`  ${printable(path)}`, CHANGES[change]])),
    ...(counts.length === 0 ? [] : [`  entries: ${counts.join(", ")}`]),
    ...(sums.length === 0 ? ["  no money moves in the books"] : table(sums.slice(0, SHOWN)).map((line) => `  ${line}`)),
    ...(sums.length > SHOWN ? [`  and ${sums.length - SHOWN} more sums`] : []),
    ...statements.map(
      ({ file }) =>
        `  ${printable(file)} comes back to import/: \`cleared import\`, or the import of another file, books it again; move it away to prevent that`,
    ),
    ...notes.map((note) => output.yellow(`  ${printable(note)}`)),
  ];
}

const sign = (amount: string): string => (amount.startsWith("-") ? amount : `+${amount}`);

/** Books rows again that somebody deleted from the books, or excludes them permanently. */
export const revive: Command = async ({ output, dir }, names, options) => {
  const by = deciderHere(dir);
  const leave = options["leaveOut"] === true;
  const done = await withApi(dir, (api) => api.revive({ names, leave, by }));
  output.result(done);
  for (const id of done.entries) output.line(`${id}  ${leave ? "stays out" : "is in the books again"}`);
  if (done.commit !== null) output.line(`      commit ${done.commit.slice(0, 7)}`);
};
