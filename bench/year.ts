/**
 * A year of 500 runs a day: 180,000 histories, 14,400 entries and 3,600 commits. What the store and the repository weigh, how long `cleared start`,
 * a run, a commit and the listings take, on days 1, 30, 180 and 360. The days are made through the engine's own API from the recorded steps
 * of real runs (with other figures in them), the commits by the committer; each day ends with what an idle owner does in the night.
 * DAYS=60 makes the first sixty days.
 * Size: one year, from its days to its numbers.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApi } from "../runtime/app/api.ts";
import { asked, decideCard } from "../runtime/app/decide.ts";
import { signAs } from "../runtime/app/identity.ts";
import type { Host } from "../runtime/app/host.ts";
import { openHost } from "../runtime/app/open-host.ts";
import { importFiles } from "../runtime/app/imports.ts";
import { readLocal } from "../runtime/app/local.ts";
import { upkeepNow } from "../runtime/app/upkeep.ts";
import { createCards } from "../runtime/engine/store/cards.ts";
import { Database } from "../runtime/engine/store/database.ts";
import { takeLease } from "../runtime/engine/store/lease.ts";
import { createEngine } from "../runtime/engine/store/sqlite.ts";
import type { Entry, Json, Receipt, RunLog, RunSpec, Step } from "../runtime/kernel/ports.ts";
import { entryId } from "../runtime/workspace/books/entry-id.ts";
import { createArchive } from "../runtime/workspace/git/run-archive.ts";
import { createGit } from "../runtime/workspace/git/git.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { printEntries } from "../runtime/workspace/books/journal-text.ts";
import { addInclude } from "../runtime/workspace/books/main-journal.ts";
import { toMonth } from "../runtime/workspace/books/months.ts";
import { NOTHING_RECORDED, receiptToYaml } from "../runtime/workspace/statements/receipt.ts";
import { CLEARED, cpuOf, family, median, memoryOf, statement } from "./measure.ts";

const DAYS = Number(process.env["DAYS"] ?? 360);
const MEASURED = [1, 30, 180, 360].filter((day) => day <= DAYS);
const RUNS = 500;
const IMPORTS = 10;
const GATES = 40;
const DAY_MS = 86_400_000;
const FIRST = Math.floor((Date.now() - DAYS * DAY_MS) / DAY_MS) * DAY_MS;

const AGENTS = {
  small:
    '/*\nname: Small\nuses: [ctx, config]\n*/\nconst limit = config_get("thresholds.auto_confirm");\nctx_log("working");\nconst day = ctx_today();\n({ limit, day });\n',
  gate: '/*\nname: Gate\nuses: [ctx, approval, journal]\n*/\nconst seen = journal_query({ limit: 5 });\nconst answer = approval_wait({ title: "Pay 120.00 to ACME?", calls: [] });\nctx_log("paid or not");\n({ decision: answer.decision, seen: seen.length });\n',
};

const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
const dir = join(folder, "year");
const git = (...args: string[]) =>
  spawnSync("git", ["-C", dir, "-c", "user.name=b", "-c", "user.email=b@localhost", ...args], { encoding: "utf8" }).stdout;

interface Template {
  spec: Pick<RunSpec, "agent" | "pin" | "input">;
  steps: readonly Step[];
  result: Json;
  meta: Json | null;
}

/** One real run of each kind. */
async function templates(): Promise<Record<string, Template>> {
  const host = await openHost(dir, { mode: "owner" });
  try {
    const csv = join(folder, "day.csv");
    writeFileSync(csv, statement(12));
    const ids = { ingest: (await importFiles(host, { files: [csv], dryRun: false, again: false })).runs[0] ?? "", small: "", gate: "" };
    for (const agent of ["small", "gate"] as const) ids[agent] = (await createApi(host).run({ agent, input: {}, wait: true })).id;
    for (const card of host.cards.list({ open: true, run: ids.gate }))
      await decideCard(host, signAs(dir, host.trust, { ...asked(card), decision: "approved", at: Date.now() }));
    return Object.fromEntries(await Promise.all(Object.entries(ids).map(async ([name, id]) => [name, await templateOf(host, id)])));
  } finally {
    await host.close();
  }
}

async function templateOf(host: Host, id: string): Promise<Template> {
  const { agent, pin, input, result, meta, status } = await host.engine.result(id);
  if (status !== "done") throw new Error(`${agent} is ${status}`);
  return { spec: { agent, pin, input }, steps: await host.engine.steps(id), result, meta };
}

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The same text with other hashes, amounts and numbers in it, as another day's run would have recorded. */
function varied(text: string, run: string): string {
  let n = 0;
  return text
    .replace(/[0-9a-f]{64}/g, (old) => hash(run + old))
    .replace(/\d+\.\d\d\b/g, () => `${(Number.parseInt(hash(`${run}${n++}`).slice(0, 4), 16) / 100).toFixed(2)}`)
    .replace(/ (\d+)(?=["\\])/g, () => ` ${Number.parseInt(hash(`${run}${n++}`).slice(0, 5), 16)}`);
}

/** Days, one after the other, in a store that nobody else has open. */
async function open(kinds: Record<string, Template>) {
  let now = FIRST;
  const clock = { now: () => now };
  const database = new Database(join(dir, ".cleared", "store.db"));
  const lease = takeLease(database, { now: () => Date.now() }, () => undefined);
  const door = await createGit(dir, { branch: () => "main" });
  const archive = createArchive(dir, () => "main");
  const engine = createEngine(database, clock, (error) => void console.error(error), archive);
  const cards = createCards(database);
  const { config } = readLocal(dir);

  /** Four entries and a receipt, as an import commits them. */
  async function commit(log: RunLog, at: number): Promise<string> {
    const date = new Date(at).toISOString().slice(0, 10);
    const file = `journal/${date.slice(0, 4)}/${date.slice(5, 7)}.journal`;
    const receipt = log.steps.find(({ name }) => name === "importer_mark_processed")?.result ?? "{}";
    const entries = Array.from({ length: 4 }, (_, n): Entry => {
      const key = `1010:${log.run.id}:${n}`;
      const amount = `${100 + n}.${(log.run.id.charCodeAt(17) % 90) + 10}`;
      const legs = [
        ["Expenses:Software", amount],
        ["Assets:Bank:Checking", `-${amount}`],
      ] as const;
      return {
        ...{ id: entryId(date, key), date, status: n === 0 ? "pending-review" : "auto-confirmed", counterparty: "GitHub" },
        ...{ description: `GITHUB *PRO SUBSCRIPTION ${log.run.id}`, tags: { conf: "0.98", ev: "rule GITHUB", key, run: log.run.id } },
        postings: legs.map(([account, text]) => ({ account, amount: text, currency: "USD" })),
      };
    });
    const booked = Object.fromEntries(entries.map(({ id, postings }) => [id, postings[1]?.amount ?? ""]));
    const record = { ...NOTHING_RECORDED, booked };
    const done = await door.commit({
      message: `import: ${date}`,
      trailers: { Run: log.run.id, Step: "7", Agent: `ingest@${log.run.pin.blob.slice(0, 12)}` },
      build: async (tree) =>
        new Map([
          ["main.journal", addInclude((await tree.read("main.journal")) ?? "", file)],
          [file, printEntries([...toMonth(file, (await tree.read(file)) ?? "").entries, ...entries])],
          [`import/receipts/${hash(log.run.id)}.yaml`, receiptToYaml({ ...(JSON.parse(receipt) as Receipt), record })],
        ]),
    });
    if (done.status !== "committed") throw new Error(JSON.stringify(done));
    if (log.run.id.endsWith("0"))
      log.release([
        {
          kind: "card",
          key: `entry:${entries[0]?.id}`,
          card: {
            kind: "entry",
            title: "GITHUB",
            body: { entry: entries[0]?.id ?? "" },
            run: log.run.id,
            gate: null,
            calls: [],
            level: null,
            expires: null,
          },
        },
      ]);
    return done.commit;
  }

  const working = engine.work(
    async (log) => {
      const kind = kinds[log.run.agent];
      if (kind === undefined) throw new Error(`no template of ${log.run.agent}`);
      for (const step of kind.steps) {
        const { result } = step;
        log.record({
          ...step,
          params: varied(step.params, log.run.id),
          result: result === null ? null : varied(result, log.run.id),
          changes: JSON.parse(varied(JSON.stringify(step.changes), log.run.id)),
          at: now,
        });
      }
      if (log.run.agent === "ingest") log.event("commit", { commit: await commit(log, now), message: "import" });
      log.end({ status: "done", outcome: "completed", result: kind.result, ...(kind.meta === null ? {} : { meta: kind.meta }) });
    },
    { concurrency: 4 },
  );

  return {
    engine,
    database,
    async day(number: number): Promise<void> {
      const head = await door.head();
      now = FIRST + number * DAY_MS + 8 * 3_600_000;
      const ids = await Promise.all(
        Array.from({ length: RUNS }, (_, n) => {
          const kind = kinds[n < IMPORTS ? "ingest" : n < IMPORTS + GATES ? "gate" : "small"] as Template;
          return engine.start({
            ...kind.spec,
            pin: { ...kind.spec.pin, commit: head },
            cause: { kind: "command", key: hash(`${number} ${n}`) },
            mode: "live",
          });
        }),
      );
      for (const { id } of ids) {
        const { error } = await engine.result(id);
        if (error !== null) throw new Error(error.message);
      }
      for (const card of cards.list({ open: true })) cards.decide(card.id, { card: card.id, decision: "approved", by: "Bench", at: now });
      now += 12 * 3_600_000;
      await upkeepNow({
        dir,
        git: door,
        engine,
        clock,
        database,
        packing: { database, archive, guard: () => lease.check() },
        config: async () => config,
      } as Partial<Host> as Host);
    },
    async close(): Promise<void> {
      await working.stop(0);
      await door.close();
      lease.release(true);
      database.close();
    },
  };
}

function sizeOf(path: string): number {
  return Number(spawnSync("du", ["-sk", path], { encoding: "utf8" }).stdout.split("\t")[0]) / 1024;
}

/** ms of CPU of a command and all it starts, which the machine's load leaves alone; the least of three. */
function cpuOfCommand(...args: string[]): number {
  const used = Array.from({ length: 3 }, () => {
    const command = ["-f", "%U %S", ...CLEARED, ...args, "--dir", dir];
    const done = spawnSync("/usr/bin/time", command, { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] });
    if (done.status !== 0) throw new Error(`cleared ${args.join(" ")}: ${done.stderr}`);
    const [user = 0, system = 0] = (done.stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
    return (user + system) * 1000;
  });
  return Math.min(...used);
}

/** Time and CPU until it says where its page is; CPU of the page's second answer; what all its processes hold after 70 s without work. */
async function startOnce(idle: boolean): Promise<{ ready: number; cpu: number; page: number; memory: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, [join(import.meta.dirname, "../bin/cleared.js"), "start", "--port", "0", "--dir", dir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve) =>
    child.stdout.on("data", (said: Buffer) => /http:\S+/.test(String(said)) && resolve(/http:\S+/.exec(String(said))?.[0] ?? "")),
  );
  const ready = performance.now() - began;
  const cpu = cpuOf(family(child.pid ?? 0));
  await (await fetch(url)).text();
  const before = cpuOf([family(child.pid ?? 0)[1] ?? 0]);
  for (let n = 0; n < 10; n++) await (await fetch(url)).text();
  const page = (cpuOf([family(child.pid ?? 0)[1] ?? 0]) - before) / 10;
  if (idle) await new Promise((resolve) => setTimeout(resolve, 70_000));
  const memory = memoryOf(family(child.pid ?? 0));
  child.kill("SIGTERM");
  await new Promise((resolve) => child.once("exit", resolve));
  return { ready, cpu, page, memory };
}

/** Runs that are really executed, and commits of two files, at this size. */
async function work(label: string): Promise<{ rate: number; commit: number; cpu: number }> {
  const host = await openHost(dir, { mode: "owner" });
  try {
    const burst = async (name: string, runs: number) => {
      const ids = await Promise.all(
        Array.from({ length: runs }, (_, n) =>
          host.start("small", { cause: { kind: "command", key: `${label} ${name} ${n}` }, input: {} }),
        ),
      );
      await Promise.all(ids.map(({ id }) => host.engine.result(id)));
    };
    await burst("warm", 100);
    const began = performance.now();
    await burst("measured", 500);
    const rate = 500 / ((performance.now() - began) / 1000);
    const times: number[] = [];
    let used = 0;
    for (let n = 0; n < 23; n++) {
      const from = performance.now();
      if (n === 3) used = cpuOf(family(process.pid));
      await host.git.commit({
        message: "import: bench",
        trailers: {},
        build: async (tree) =>
          new Map([
            ["data/bench.txt", `${label} ${n}\n`],
            ["data/more.txt", `${(await tree.read("data/more.txt")) ?? ""}${n}\n`],
          ]),
      });
      if (n > 2) times.push(performance.now() - from);
    }
    return { rate, commit: median(times), cpu: (cpuOf(family(process.pid)) - used) / 20 };
  } finally {
    await host.close();
  }
}

async function measure(day: number, database: Database): Promise<void> {
  const { n } = database.get<{ n: number }>("SELECT count(*) AS n FROM runs") ?? { n: 0 };
  const first = database.get<{ id: string }>("SELECT id FROM runs WHERE agent = 'ingest' ORDER BY rid LIMIT 1")?.id ?? "";
  const store = statSync(join(dir, ".cleared", "store.db")).size / 2 ** 20;
  const objects = git("count-objects", "-v");
  const files = git("ls-files").split("\n").length - 1;
  const weight = (ref: string) => Number(git("rev-list", "--objects", "--disk-usage", ref, "--not", "main").trim()) / 2 ** 20;
  console.log(`day ${day}: ${n} runs, ${files} files, ${git("rev-list", "--count", "main").trim()} commits`);
  console.log(
    `  store ${store.toFixed(1)} MB (${((store * 2 ** 20) / n / 1000).toFixed(2)} kB a run); .git ${sizeOf(join(dir, ".git")).toFixed(1)} MB, of it histories ${git(
      "for-each-ref",
      "--format=%(refname)",
      "refs/cleared/runs",
    )
      .trim()
      .split("\n")
      .reduce((sum, ref) => sum + weight(ref), 0)
      .toFixed(1)} MB; ${/^count: (\d+)/m.exec(objects)?.[1]} loose objects, ${/^packs: (\d+)/m.exec(objects)?.[1]} packs`,
  );
  const starts = [await startOnce(false), await startOnce(false), await startOnce(day === MEASURED.at(-1))];
  const best = (of: "ready" | "cpu" | "page") => Math.min(...starts.map((one) => one[of])).toFixed(0);
  console.log(`  cleared start ${best("ready")} ms (${best("cpu")} ms of CPU), its page ${best("page")} ms of CPU`);
  const lists = {
    "runs list": ["runs", "list"],
    "runs list --agent ingest": ["runs", "list", "--agent", "ingest"],
    "runs show (the first import)": ["runs", "show", first],
    queue: ["queue"],
    agents: ["agents"],
    verify: ["verify"],
  };
  console.log(
    `  CPU: ${Object.entries(lists)
      .map(([name, args]) => `${name} ${cpuOfCommand(...args).toFixed(0)} ms`)
      .join(", ")}`,
  );
  const { rate, commit, cpu } = await work(`day ${day}`);
  console.log(`  executed ${rate.toFixed(0)} runs/s; a commit of two files ${commit.toFixed(0)} ms (${cpu.toFixed(0)} ms of CPU)`);
  if (day === MEASURED.at(-1)) console.log(`  idle for 70 s: ${starts.at(-1)?.memory.toFixed(0)} MB in all processes (target 200)`);
}

try {
  await initWorkspace(dir, { name: "Bench", from: join(import.meta.dirname, ".."), person: "Bench" });
  for (const [name, text] of Object.entries(AGENTS)) writeFileSync(join(dir, "agents", `${name}.ts`), text);
  git("add", "agents");
  git("commit", "-qm", "agent: bench");
  const kinds = await templates();
  const kB = (name: string) => (JSON.stringify(kinds[name]?.steps).length / 1000).toFixed(1);
  console.log(
    `${RUNS} runs a day: ${IMPORTS} imports (${kB("ingest")} kB of steps each), ${GATES} approvals (${kB("gate")} kB), the rest small (${kB("small")} kB)`,
  );
  const began = performance.now();
  for (let day = 1; day <= DAYS; ) {
    const year = await open(kinds);
    for (; ; day++) {
      await year.day(day);
      if (MEASURED.includes(day) || day === DAYS) break;
    }
    await year.close();
    if (MEASURED.includes(day)) {
      const database = new Database(join(dir, ".cleared", "store.db"));
      await measure(day, database);
      database.close();
    }
    day++;
  }
  console.log(`made in ${((performance.now() - began) / 60_000).toFixed(1)} min`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
