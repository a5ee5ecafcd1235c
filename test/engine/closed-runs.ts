/** Closed runs of every kind for archive.test.ts and packing.test.ts: a workspace that is made once and copied, and what can be asked of it. */
import type { Host } from "../../runtime/app/host.ts";
import { packClosed } from "../../runtime/engine/store/packing.ts";
import { type Workspace, close, copyOf, decide, host, run, withStore, workspace } from "./harness.ts";

export const FAR = Number.MAX_SAFE_INTEGER;

/** Everything that can be asked of a run. */
export async function shown(opened: Host, id: string): Promise<unknown> {
  const card = opened.cards.list({ run: id }).find(({ gate }) => gate !== null);
  const events: unknown[] = [];
  for await (const event of opened.engine.events(id, 1)) events.push(event);
  return {
    run: await opened.engine.get(id),
    listed: (await opened.engine.list({ limit: 100 })).find((one) => one.id === id),
    result: await opened.engine.result(id),
    steps: await opened.engine.steps(id),
    later: await opened.engine.steps(id, 1),
    signals: card === undefined ? [] : await opened.engine.signals(id, card.gate ?? ""),
    events,
    cards: opened.cards.list({ run: id }),
  };
}

/** Bundles that the repository's refs hold. */
export const inGit = (one: Workspace): string[] =>
  one
    .git("for-each-ref", "--format=%(refname)", "refs/cleared/runs")
    .trim()
    .split("\n")
    .filter((ref) => ref !== "")
    .flatMap((ref) => [...one.git("ls-tree", "-r", ref).matchAll(/blob (\w+)/g)].map((match) => match[1] ?? ""))
    .sort();
export const inStore = (one: Workspace): string[] =>
  withStore(one.dir, (db) => (db.prepare("SELECT name FROM bundles ORDER BY name").all() as { name: string }[]).map(({ name }) => name));

// One that booked, one that paid after a yes, one that was refused, one that failed, one with a long input; and one that waits.
export let used: Workspace;
export const ids = { book: "", paid: "", refused: "", failed: "", long: "", waits: "" };
export let before: Record<string, unknown>;

export async function makeUsed(): Promise<void> {
  used = await workspace({
    "agents/long.ts": `/*
name: Long
uses: [ctx]
input: {text: {type: string}}
*/
for (let i = 0; i < 30; i++) ctx_log("step " + String(i));
({ text: input.text });
`,
  });
  const opened = await host(used);
  ids.book = (await run(opened, "book", { key: "one" })).id;
  ids.paid = (await run(opened, "pay")).id;
  await decide(opened, ids.paid, "approved");
  ids.refused = (await run(opened, "gate")).id;
  await decide(opened, ids.refused, "rejected");
  ids.failed = (await run(opened, "rate", { failures: 4 })).id;
  ids.long = (await run(opened, "long", { text: "x".repeat(2000) })).id;
  ids.waits = (await run(opened, "gate")).id;
  before = await all(opened);
  await close(opened);
}

export async function all(opened: Host): Promise<Record<string, unknown>> {
  return Object.fromEntries(await Promise.all(Object.values(ids).map(async (id) => [id, await shown(opened, id)])));
}

export async function packed(): Promise<{ one: Workspace; opened: Host }> {
  const one = copyOf(used);
  const opened = await host(one);
  await packAll(opened);
  return { one, opened };
}

export async function packAll(opened: Host): Promise<void> {
  while ((await packClosed(opened.packing, FAR)) > 0);
}
