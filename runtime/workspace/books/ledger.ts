/**
 * Writing the books: edits as data, applied to whatever tree HEAD is by then, giving the new text of exactly the files they touch.
 * Months stay sorted by day and stable within a day, an id that exists is skipped, every invariant is checked before a text is answered.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { Entry, EntryStatus, Tree } from "../../kernel/ports.ts";
import { checkAssertions, type MonthChange } from "./assertions.ts";
import { ownKind } from "./entry-id.ts";
import { assertEntry, assertOpen, assertReversals, type BookRules } from "./invariants.ts";
import { cleanEntry, printEntry } from "./journal-text.ts";
import { MAIN_JOURNAL, monthFile } from "../layout.ts";
import { addCommodity, addInclude, addTag, type Chart, dropInclude } from "./main-journal.ts";
import { loadChart, loadMonth, type Month, monthOfId, toMonth, wholeMonth } from "./months.ts";

/** What is to change in the books. An id is in at most one of `add` and the others. */
export interface Edits {
  add: Entry[];
  /** New status of a pending entry. */
  status: Map<string, EntryStatus>;
  /** An entry of this id as it shall read from now on; same day, same key. */
  replace: Map<string, Entry>;
  /** Openings and closing assertions that another one supersedes. */
  remove: Set<string>;
  /** Assertions among `add` that are left out, instead of failing, when they do not hold on this tree. */
  soft: Set<string>;
}

export function noEdits(): Edits {
  return { add: [], status: new Map(), replace: new Map(), remove: new Set(), soft: new Set() };
}

/**
 * The new content of the files that the edits touch (null removes one); soft assertions that were left out, id -> what the assertion says
 * minus what the books say.
 * @throws JOURNAL_*, ACCOUNT_UNKNOWN, WORKSPACE_CONFLICT when an entry is no longer as the edit expects
 */
export async function applyEdits(head: Tree, edits: Edits, rules: BookRules) {
  const chart = await loadChart(head);
  let add = await newEntries(head, edits);
  await assertReversals(head, add);
  const dropped = new Map<string, string>();
  for (;;) {
    const changes = await changedMonths(head, { ...edits, add }, chart, rules);
    const failed = await checkAssertions(head, changes, new Set(add.map((entry) => entry.id)));
    const soft = failed.filter((failure) => edits.soft.has(failure.id));
    const hard = failed.find((failure) => !edits.soft.has(failure.id));
    if (hard !== undefined) {
      throw new ClearedError(
        "JOURNAL_ASSERTION",
        `The balance of ${hard.account} stated on ${hard.date} (${hard.id}) would be off by ${hard.difference} ${hard.currency}. Rows of that time may be in the books already, from another file or under another key.`,
        { data: { entry: hard.id, account: hard.account, difference: hard.difference } },
      );
    }
    // Printed when it is asked for: who only asks whether the edits hold never does.
    if (soft.length === 0) return { files: () => toFiles(head, changes, add, chart), dropped };
    for (const { id, difference } of soft) dropped.set(id, difference);
    add = add.filter((entry) => !dropped.has(entry.id));
  }
}

/** Without those whose id exists already. */
async function newEntries(head: Tree, edits: Edits): Promise<Entry[]> {
  const seen = new Set<string>();
  const fresh: Entry[] = [];
  const months = new Map<string, Month | null>();
  for (const entry of edits.add) {
    const file = monthOfId(entry.id);
    let month = months.get(file);
    if (month === undefined) months.set(file, (month = await wholeMonth(head, file)));
    const isKnown = seen.has(entry.id) || (month?.byId.has(entry.id) === true && !edits.remove.has(entry.id));
    if (!isKnown) fresh.push(entry);
    seen.add(entry.id);
  }
  return fresh;
}

/** Every touched month before and after, oldest first. */
async function changedMonths(head: Tree, edits: Edits, chart: Chart, rules: BookRules): Promise<MonthChange[]> {
  const added = Map.groupBy(edits.add, (entry) => monthFile(entry.date));
  const touched = new Set([...added.keys(), ...[...edits.status.keys(), ...edits.replace.keys(), ...edits.remove].map(monthOfId)]);
  const changes: MonthChange[] = [];
  for (const file of [...touched].sort()) {
    const before = (await loadMonth(head, file)) ?? toMonth(file, "");
    const [finding] = before.findings;
    if (finding !== undefined) throw new ClearedError("JOURNAL_FORM", finding.message, { at: finding.at });
    const fresh = (added.get(file) ?? []).map(cleanEntry);
    for (const entry of fresh) assertEntry(entry, chart, rules);
    const kept = before.entries.flatMap((entry): Entry[] => {
      const changed = changeOf(entry, edits);
      if (changed === entry) return [entry];
      assertOpen(entry.date, rules);
      if (changed !== null) assertEntry(changed, chart, rules);
      return changed === null ? [] : [changed];
    });
    changes.push({ file, before, after: inOrder([...kept, ...fresh]) });
  }
  for (const id of [...edits.status.keys(), ...edits.replace.keys()]) {
    if (!changes.some((change) => change.before.byId.has(id) || change.after.some((entry) => entry.id === id))) {
      throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry has the id ${id}.`);
    }
  }
  return changes;
}

function changeOf(entry: Entry, edits: Edits): Entry | null {
  if (edits.remove.has(entry.id)) return null;
  const replaced = edits.replace.get(entry.id);
  const status = edits.status.get(entry.id);
  if (replaced === undefined && (status === undefined || status === entry.status)) return entry;
  if (entry.status !== "pending-review" && !(replaced !== undefined && isSameButReference(entry, replaced))) {
    throw new ClearedError("WORKSPACE_CONFLICT", `${entry.id} is already ${entry.status}, so it cannot be changed.`, {
      data: { entry: entry.id },
    });
  }
  return replaced === undefined ? { ...plain(entry), status: status ?? entry.status } : cleanEntry(replaced);
}

/** The bank's reference of a row is no decision: a confirmed entry may get another one. */
function isSameButReference(a: Entry, b: Entry): boolean {
  const [one, other] = [a, b].map((entry) => printEntry({ ...plain(entry), tags: { ...entry.tags, ref: "" } }));
  return one === other;
}

/** An entry without its place in a file. */
export function plain(entry: Entry): Entry {
  const { id, date, status, counterparty, description, tags, postings } = entry;
  return { id, date, status, counterparty, description, tags, postings };
}

/** By day; an opening comes first on its day, everything else stays as it stands. */
export function inOrder(entries: Entry[]): Entry[] {
  const rank = (entry: Entry): number => (ownKind(entry) === "opening" ? 0 : 1);
  return entries.sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : rank(a) - rank(b)));
}

async function toFiles(head: Tree, changes: MonthChange[], added: Entry[], chart: Chart): Promise<Map<string, string | null>> {
  const files = new Map<string, string | null>();
  const before = (await head.read(MAIN_JOURNAL)) ?? "";
  let main = before;
  for (const { file, before: month, after } of changes) {
    // Entries that stay as they are keep their bytes: printing them again would cost more than all the rest.
    const text = after.map((entry) => (isUntouched(entry, month) ? month.text.slice(entry.from, entry.to) : printEntry(entry))).join("\n");
    if (text === month.text && text !== "") continue;
    files.set(file, text === "" ? null : text);
    main = text === "" ? dropInclude(main, file) : addInclude(main, file);
  }
  for (const currency of currenciesOf(added)) if (!chart.places.has(currency)) main = addCommodity(main, currency);
  const replaced = changes.flatMap((change) => change.after.filter((entry) => !isUntouched(entry, change.before)));
  for (const tag of tagsOf(replaced)) if (!chart.tags.has(tag)) main = addTag(main, tag);
  if (main !== before) files.set(MAIN_JOURNAL, main);
  return files;
}

function isUntouched(entry: Entry, month: Month): entry is Month["entries"][number] {
  return month.byId.get(entry.id) === entry;
}

function currenciesOf(entries: Entry[]): Set<string> {
  return new Set(
    entries.flatMap((entry) =>
      entry.postings.flatMap((posting) => (posting.cost === undefined ? [posting.currency] : [posting.currency, posting.cost.currency])),
    ),
  );
}

function tagsOf(entries: Entry[]): Set<string> {
  const names = new Set(entries.length === 0 ? [] : ["status"]);
  for (const entry of entries) for (const name of Object.keys(entry.tags)) names.add(name);
  return names;
}
