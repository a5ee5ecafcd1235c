/**
 * Sums over entries by account, month and pair of accounts, and one report over many runs: counts and sums of all, and a sample of the
 * differences, the worst first. Invariant: the report does not grow with the number of runs or of rows in one run, and memory only by the entries' ids.
 */
import { type Exact, ZERO, fromExact, minus, plus, toExact } from "../../workspace/books/amounts.ts";
import { addActs } from "./acts.ts";
import { legsOf } from "./differences.ts";
import { partings } from "./partings.ts";
import type { BacktestClass, BacktestReport, Divergence, EntryEffect, FactDifference, MoneyDifference, RunDifference } from "./types.ts";
import type { Json } from "../../kernel/ports.ts";

// A report is committed, checked and rendered as text: some 100 kB, however much it covers.
const LISTED = 200;
const ENTRIES = { each: 20, all: 200 };
const LINES = { each: 20, all: 600, length: 400 };
const MONEY = 200;
const MOVES = 100;
const FACTS = 20;
const ACTS = 50;
// Beyond this, equal entries of several runs are counted for each: some 50 MB.
const COUNTED = 500_000;

const WORST: readonly BacktestClass[] = ["worse", "failed", "not_replayable", "changed", "same"];

export function newSums() {
  const counts: BacktestReport["counts"] = { same: 0, changed: 0, worse: 0, failed: 0, not_replayable: 0 };
  const moves = new Map<string, { move: BacktestReport["moves"][number]; amount: Exact }>();
  const facts = new Map<string, BacktestReport["facts"][number]>();
  const net = new Map<string, Exact>();
  const reviews = { was: 0, now: 0 };
  const money: Cells = new Map();
  let acts: NonNullable<BacktestReport["acts"]> = [];
  const harm = new Map<string, NonNullable<BacktestReport["harm"]>[number]>();
  let [runs, entries] = [0, 0];
  // Several runs may have tried the same rows: an entry is in the books once.
  const counted = new Set<string>();
  const isFirst = ({ was, now }: Pair): boolean => {
    const id = (now ?? was)?.id ?? "";
    return !counted.has(id) && (counted.size >= COUNTED || counted.add(id) !== undefined);
  };
  let differences: RunDifference[] = [];
  const rank = (one: RunDifference) => WORST.indexOf(one.class);
  const sort = () => differences.sort((a, b) => rank(a) - rank(b) || (a.run < b.run ? 1 : -1));
  return {
    add(one: RunDifference): void {
      runs++;
      counts[one.class]++;
      reviews.was += one.reviews?.was ?? 0;
      reviews.now += one.reviews?.now ?? 0;
      if (one.class === "same") return;
      const first = one.entries.filter(isFirst);
      entries += first.length;
      addMoney(money, first);
      acts = addActs(acts, one.acts ?? []);
      for (const { kind, about } of one.harm ?? [])
        harm.set(kind, { kind, about: harm.get(kind)?.about ?? about, count: (harm.get(kind)?.count ?? 0) + 1 });
      addNet(net, first);
      for (const move of first.flatMap(movesOf)) {
        const key = [move.from, move.to, move.currency].join("\n");
        const sum = moves.get(key);
        moves.set(key, {
          move: { ...move, entries: (sum?.move.entries ?? 0) + 1 },
          amount: plus(sum?.amount ?? ZERO, toExact(move.amount)),
        });
      }
      for (const [name, [fact]] of Map.groupBy(one.facts, (each) => each.name)) {
        const known = facts.get(name) ?? { ...(fact as FactDifference), runs: 0, run: one.run };
        facts.set(name, { ...known, runs: known.runs + 1 });
      }
      differences.push(sampled(one, ENTRIES.each, LINES.each));
      if (differences.length >= 2 * LISTED) differences = sort().slice(0, LISTED);
    },
    report(): Omit<BacktestReport, "agent" | "code" | "days" | "waiting" | "asked"> {
      return {
        runs,
        counts,
        entries,
        reviews,
        money: largest(differencesIn(money)),
        net: Object.fromEntries([...net].map(([currency, sum]) => [currency, fromExact(sum, 2)])),
        moves: [...moves.values()].slice(0, MOVES).map(({ move, amount }) => ({ ...move, amount: fromExact(amount, 2) })),
        acts: acts.slice(0, ACTS),
        harm: [...harm.values()].map((one) => ({ ...one, about: clipped(one.about) })),
        facts: [...facts.values()].slice(0, FACTS),
        differences: within(sort().slice(0, LISTED)),
      };
    },
  };
}

/** The accounts and months with the largest changes. */
function largest(money: BacktestReport["money"]): BacktestReport["money"] {
  const size = ({ difference }: BacktestReport["money"][number]) => Math.abs(Number(difference));
  return money.length <= MONEY ? money : [...money].sort((a, b) => size(b) - size(a)).slice(0, MONEY);
}

/** As many differences as fit into the shared limits of entries and lines, the worst first. */
function within(differences: readonly RunDifference[]): RunDifference[] {
  let [entries, lines] = [ENTRIES.all, LINES.all];
  return differences.map((one) => {
    const cut = sampled(one, Math.max(1, Math.min(ENTRIES.each, entries)), Math.max(1, Math.min(LINES.each, lines)));
    entries -= cut.entries.length;
    lines -= cut.why.length;
    return cut;
  });
}

function sampled(one: RunDifference, entries: number, lines: number): RunDifference {
  const { entries: before, lines: cut } = one.omitted ?? { entries: 0, lines: 0 };
  const omitted = { entries: before + Math.max(0, one.entries.length - entries), lines: cut + Math.max(0, one.why.length - lines) };
  return {
    ...one,
    why: one.why.slice(0, lines).map(clipped),
    entries: one.entries.slice(0, entries),
    money: one.money.slice(0, ENTRIES.each),
    facts: one.facts.slice(0, FACTS),
    acts: (one.acts ?? []).slice(0, FACTS).map((act) => ({ ...act, fields: [] })),
    files: (one.files ?? []).slice(0, FACTS),
    harm: (one.harm ?? []).slice(0, lines).map((each) => ({ ...each, about: clipped(each.about), line: clipped(each.line) })),
    supposed: [...new Set(one.supposed)].slice(0, lines).map(clipped),
    divergence: one.divergence === null ? null : parted(one.divergence),
    ...(omitted.entries + omitted.lines === 0 ? {} : { omitted }),
  };
}

const clipped = (text: string): string => (text.length > LINES.length ? `${text.slice(0, LINES.length)}…` : text);

// Anything larger is clipped: a call that adds 1,000 rows would otherwise dominate the report.
const SMALL = 2000;
const sizeOf = (value: unknown): number => JSON.stringify(value).length;

/** The two calls; of large ones only the first parameter that differs. */
function parted({ recorded, now, ...place }: Divergence): Divergence {
  if (recorded === null || now === null || recorded.tool !== now.tool) return { ...place, recorded: brief(recorded), now: brief(now) };
  if (sizeOf(recorded.params) + sizeOf(now.params) <= SMALL) return { ...place, recorded, now };
  const [first] = partings(recorded.params, now.params);
  // The calls differ only in ids, so no parameter can be shown.
  if (first === undefined) return { ...place, recorded: brief(recorded), now: brief(now) };
  const part = (value: unknown): Json =>
    value === undefined ? {} : { [first.key]: sizeOf(value) <= SMALL ? (value as Json) : clipped(JSON.stringify(value)) };
  return { ...place, recorded: { ...recorded, params: part(first.was) }, now: { ...now, params: part(first.now) } };
}

function brief(call: Divergence["now"]): Divergence["now"] {
  return call === null || sizeOf(call.params) <= SMALL ? call : { ...call, params: { [`${sizeOf(call.params)} characters`]: "…" } };
}

type Pair = RunDifference["entries"][number];
type Move = BacktestReport["moves"][number];

/** Amounts before and after, by account, month and currency. */
type Cells = Map<string, { was: Exact; now: Exact }>;

function addMoney(cells: Cells, pairs: readonly Pair[]): void {
  // Entries whose status or words change, but not their legs, move no money.
  const isMoved = ({ was, now }: Pair) =>
    was === null || now === null || was.date.slice(0, 7) !== now.date.slice(0, 7) || legsOf(was.legs) !== legsOf(now.legs);
  for (const pair of pairs.filter(isMoved))
    for (const side of ["was", "now"] as const)
      for (const { account, amount, currency } of pair[side]?.legs ?? []) {
        const key = [account, pair[side]?.date.slice(0, 7) ?? "", currency].join("\n");
        const cell = cells.get(key) ?? { was: ZERO, now: ZERO };
        cells.set(key, { ...cell, [side]: plus(cell[side], toExact(amount)) });
      }
}

/** Equal cells are omitted. */
function differencesIn(cells: Cells): MoneyDifference[] {
  return [...cells].flatMap(([key, { was, now }]) => {
    const [account = "", month = "", currency = ""] = key.split("\n");
    const difference = minus(now, was);
    if (difference === 0n) return [];
    return [{ account, month, currency, was: fromExact(was, 2), now: fromExact(now, 2), difference: fromExact(difference, 2) }];
  });
}

/** Changes of account balances, by month and currency. */
export function moneyOf(pairs: readonly Pair[]): MoneyDifference[] {
  const cells: Cells = new Map();
  addMoney(cells, pairs);
  return differencesIn(cells);
}

/** Adds the change of the entries' total by currency; zero where only accounts change. */
function addNet(net: Map<string, Exact>, pairs: readonly Pair[]): void {
  // Only debits: credits have the same sum.
  const count = (entry: EntryEffect | null, add: typeof plus) => {
    for (const { amount, currency } of entry?.legs ?? [])
      net.set(currency, add(net.get(currency) ?? ZERO, amount.startsWith("-") ? ZERO : toExact(amount)));
  };
  for (const { was, now } of pairs) {
    count(now, plus);
    count(was, minus);
  }
}

/** Moves of an entry between accounts, debits and credits separately; "" is the missing side of a new or removed entry. */
function movesOf({ was, now }: Pair): Move[] {
  return [1, -1].flatMap((side) => {
    const changes = new Map<string, Exact>();
    const count = (entry: EntryEffect | null, sign: bigint) => {
      for (const { account, amount, currency } of entry?.legs ?? []) {
        const value = toExact(amount);
        if (value === 0n || value > 0n !== side > 0) continue;
        const key = [currency, account].join("\n");
        changes.set(key, plus(changes.get(key) ?? ZERO, value * BigInt(side) * sign));
      }
    };
    count(was, -1n);
    count(now, 1n);
    return paired([...changes]);
  });
}

/** Matches decreases with increases, in order. */
function paired(changes: [key: string, change: Exact][]): Move[] {
  const moves: Move[] = [];
  const open = changes.filter(([, change]) => change < 0n).map(([key, change]) => ({ key, left: -change }));
  const move = (currency: string, from: string, to: string, amount: Exact) =>
    moves.push({ from, to, entries: 1, amount: fromExact(amount, 2), currency });
  for (const [key, change] of changes) {
    const [currency = "", to = ""] = key.split("\n");
    let wanted = change;
    for (const one of open) {
      if (wanted <= 0n) break;
      if (one.left === 0n || !one.key.startsWith(`${currency}\n`)) continue;
      const amount = one.left < wanted ? one.left : wanted;
      move(currency, one.key.slice(currency.length + 1), to, amount);
      one.left = minus(one.left, amount);
      wanted = minus(wanted, amount);
    }
    if (wanted > 0n) move(currency, "", to, wanted);
  }
  for (const { key, left } of open) {
    const [currency = "", from = ""] = key.split("\n");
    if (left > 0n) move(currency, from, "", left);
  }
  return moves;
}
