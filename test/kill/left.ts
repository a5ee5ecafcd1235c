/** What a day leaves behind once everybody has gone: the books, what happened outside, who was asked, and what must not be there. */
import { existsSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { withStore } from "../../runtime/app/look.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { type Day, sleep } from "./day.ts";
import { patiently } from "../patience.ts";
import { commandOf } from "./processes.ts";

/** What reached the bank, oldest first. */
export function acts(dir: string): { what: string; key: string }[] {
  const file = join(dir, ".cleared/bank.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  // Of an act that a full disk refused an empty file may be left.
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as { what: string; key: string });
}

/** What a day left behind once everybody has gone; nothing of it depends on what happened in between. */
export async function leftBy(day: Day): Promise<Json> {
  const { one, dir } = day;
  const plain = (text: string) =>
    text
      .replaceAll(/run_[0-9A-Z]{14}/g, "RUN")
      .replaceAll(/\b[0-9a-f]{40}\b/g, "COMMIT")
      .replaceAll(/prop_\w+/g, "PROP");
  // The tree as it lies there, which `changed` says is the one of HEAD; so are the balances, which are sums of it.
  const tree = one
    .git("ls-files")
    .trim()
    .split("\n")
    .filter((path) => /^(journal|main|import|agents|data|cases)/.test(path));
  const { cards, runs } = await withStore(dir, async (store) => ({ cards: store.queue(200), runs: await store.runs({ limit: 200 }) }));
  // An owner whose launcher was killed ends what it has in hand first, and has 15 s for it.
  for (const until = Date.now() + patiently(20_000); processesOf(day).length > 0 && Date.now() < until; ) await sleep(100);
  return {
    tree: Object.fromEntries(tree.map((path) => [plain(path), plain(one.read(path))])),
    commits: one.git("log", "--format=%s").trim().split("\n").map(plain).sort(),
    changed: one.git("status", "--porcelain"),
    fsck: one.git("fsck", "--strict", "--no-dangling").trim(),
    outside: acts(dir)
      .map((act) => act.what)
      .sort(),
    // A question of doubt is one more than in a calm day, and open no longer.
    cards: cards
      .filter((card) => card.kind !== "in_doubt" || card.decision === null)
      .map((card) => `${card.kind} ${plain(card.title)} ${card.decision?.decision ?? "open"}`)
      .sort(),
    // The command that takes over from a stopped owner starts a run of its own.
    runs: runs
      .filter((run) => run.agent !== "quick")
      .map((run) => `${run.agent} ${run.status} ${run.outcome} ${run.error?.code ?? ""}`)
      .sort(),
    statements: readdirSync(join(dir, "import"), { recursive: true }).map(String).sort(),
    leftovers: leftovers(dir),
    processes: processesOf(day),
  };
}

/** What must not stay behind when everybody has gone. */
function leftovers(dir: string): string[] {
  const inGit = readdirSync(join(dir, ".git"), { recursive: true })
    .map(String)
    .filter((name) => /\.lock$|tmp_|^cleared-|packed-refs\.new|crash/.test(name));
  const inState = readdirSync(join(dir, ".cleared")).filter((name) => /^sock|\.new$|^refresh|\.tmp$/.test(name));
  const staged = existsSync(join(dir, ".cleared/tmp")) ? readdirSync(join(dir, ".cleared/tmp")) : [];
  return [...inGit, ...inState, ...staged];
}

function processesOf({ dir, family }: Day): string[] {
  const here = readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
    try {
      return family.has(Number(pid)) || readlinkSync(`/proc/${pid}/cwd`).startsWith(dir);
    } catch {
      return false;
    }
  });
  return here.map((pid) => commandOf(Number(pid))).filter((command) => command !== "");
}
