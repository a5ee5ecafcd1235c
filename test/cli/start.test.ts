/** `cleared start` as a user meets it: files are picked up, git is followed, one owner, one clean end. */
import { appendFileSync, copyFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, expect, test } from "vitest";
import { agrees, cleared, commit, isThere, put, shell, start, statement, until, workspace, warmUp } from "./command-line.ts";

beforeAll(warmUp);

const OCTOBER = statement([
  ["2026-10-01", "GITHUB PRO", "-21.00"],
  ["2026-10-02", "BLUE BOTTLE", "-4.50"],
  ["2026-10-02", "BLUE BOTTLE", "-4.50"],
]);
const LATER = statement([
  ["2026-10-02", "BLUE BOTTLE", "-4.50"],
  ["2026-10-02", "BLUE BOTTLE", "-4.50"],
  ["2026-10-09", "AWS", "-7.00"],
]);

const count = async (dir: string) => (await shell(dir, "git rev-list --count HEAD")).stdout.trim();

test("a statement put into import/ becomes a run, a receipt, one commit and cards; copies of it change nothing", async () => {
  const dir = await workspace();
  const before = Number(await count(dir));
  const running = await start(dir);
  put(dir, { "import/october.csv": OCTOBER });
  await running.says(/3 rows: 2 new, 1 equal to another row, booked too/);
  await until(() => isThere(dir, "import/processed/october.csv"));
  expect(Number(await count(dir))).toBe(before + 1);
  expect((await cleared(dir, "queue", "--json")).json()).toHaveLength(2);
  const message = { messageId: "m", role: "user", parts: [{ text: "Hello" }] };
  const task = { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }) };
  expect(await (await fetch(/http:\/\/127\.0\.0\.1:\d+/.exec(running.said())?.[0] ?? "", task)).json()).toMatchObject({
    error: { message: expect.stringContaining("cleared add general") },
  });

  for (let n = 1; n <= 5; n++) copyFileSync(join(dir, "import/processed/october.csv"), join(dir, `import/copy-${n}.csv`));
  await until(() => readdirSync(join(dir, "import")).every((name) => !name.startsWith("copy")));
  put(dir, { "import/later.csv": LATER });
  await running.says(/3 rows: 1 new, 2 already in the books/);
  expect((await cleared(dir, "import", join(dir, "import/processed/copy-1.csv"), "--json")).json()).toMatchObject([
    { new: 0, known: 3, twin: 0 },
  ]);

  expect((await cleared(dir, "runs", "--json")).json()).toHaveLength(2);
  expect(Number(await count(dir))).toBe(before + 2);
  expect(await running.stop("SIGTERM")).toBe(0);
  await agrees(dir);
});

test("a batch of decisions goes on after its owner was killed, counts each card once, and loses none", async () => {
  const dir = await workspace();
  const rows = (n: number): [string, string, string] => [`2026-10-${n + 10}`, `UNKNOWN ${n}`, `-${n}.00`];
  put(dir, { "import/october.csv": statement(Array.from({ length: 12 }, (_, n) => rows(n + 1))) });
  const running = await start(dir);
  await running.says(/12 rows: 12 new/);
  const numbers = (await cleared(dir, "queue", "--json")).json().map((card: { id: number }) => String(card.id));
  const store = new DatabaseSync(join(dir, ".cleared/store.db"), { readOnly: true });
  const decided = () => store.prepare("SELECT count(*) AS n FROM cards WHERE decision IS NOT NULL").get()?.["n"];
  const batch = shell(dir, `cleared approve ${numbers.join(" ")} --account 5020`, true);
  await until(() => Number(decided()) >= 2);
  await running.stop("SIGKILL");
  const { code, stdout, stderr } = await batch;
  expect(code, stderr).toBe(0);
  expect(stdout.match(/^\d+ {2}approved/gm)).toHaveLength(12);
  expect(decided()).toBe(12);
  store.close();
  await agrees(dir);
});

test("ten copies at once, a slow writer and a folder named like a file: only complete files, in one run", async () => {
  const dir = await workspace();
  const running = await start(dir);
  const rows = (n: number): [string, string, string][] => [[`2026-10-${n + 10}`, `AWS ${n}`, `-${n}.00`]];
  put(dir, { "import/folder.csv/inside.csv": OCTOBER });
  writeFileSync(join(dir, "import/slow.csv.part"), "Date,Description,Amount\n");
  for (let n = 1; n <= 10; n++) put(dir, { [`import/copy-${n}.csv`]: OCTOBER, [`import/own-${n}.csv`]: statement(rows(n)) });
  await running.says(/own-10\.csv/);
  appendFileSync(join(dir, "import/slow.csv.part"), "2026-10-30,SLOW,-2.00\n");
  await shell(dir, "mv import/slow.csv.part import/slow.csv");
  await running.says(/slow\.csv {2}generic/);
  expect(running.said()).toMatch(/import\/folder\.csv is a folder and is not read/);
  await until(() => !isThere(dir, "import/slow.csv") && readdirSync(join(dir, "import")).every((name) => !name.startsWith("copy")));
  const entries = (await cleared(dir, "verify", "--json")).json().entries;
  expect(entries).toBe(3 + 10 + 1);
  expect((await cleared(dir, "runs", "--json")).json().length).toBeLessThanOrEqual(3);
  await running.stop();
  await agrees(dir);
});

test("an agent added, changed, broken, removed and restored by plain git takes effect within two seconds", async () => {
  const dir = await workspace();
  const running = await start(dir);
  const listener = (word: string) =>
    `/*\nname: Listener\ntrigger: event\non_event: done\nuses: [ctx]\n*/\nctx_log("${word} " + input.n);\n"${word}"\n`;
  const emitter = `/*\nname: Emitter\nuses: [ctx]\n*/\nctx_emit({ event: "done", payload: { n: 1 } });\n1\n`;
  const last = async () => (await cleared(dir, "runs", "--agent", "listener", "--json")).json();
  const emit = () => cleared(dir, "run", "emitter");
  const within = async (n: number) =>
    until(
      async () => (await last()).length === n,
      120_000,
      () => running.said(),
    );
  await commit(dir, { "agents/emitter.ts": emitter, "agents/listener.ts": listener("first") });
  await emit();
  await within(1);
  await until(async () => (await last())[0].status === "done");
  expect((await last())[0]).toMatchObject({ result: "first", cause: { kind: "event" } });

  await commit(dir, { "agents/listener.ts": listener("second") });
  await emit();
  await within(2);

  await commit(dir, { "agents/listener.ts": "no header" });
  await emit();
  expect((await cleared(dir, "agents")).stdout).toMatch(/There is no header comment/);
  // What nobody listens to is let go when it is delivered; it would be the listener's that is back by then.
  const store = new DatabaseSync(join(dir, ".cleared/store.db"), { readOnly: true });
  await until(() => store.prepare("SELECT 1 FROM emitted WHERE taken = 0").get() === undefined);
  store.close();

  await shell(dir, "git revert --no-edit HEAD");
  await emit();
  await within(3);

  await shell(dir, "git rm -q agents/listener.ts && git commit -qm gone");
  await emit();
  await until(async () => (await cleared(dir, "runs", "--agent", "emitter", "--json")).json().length === 5);
  expect(await last()).toHaveLength(3);
  await running.stop();
});

test("while another branch is checked out, triggers wait and say so once; afterwards they continue", async () => {
  const dir = await workspace();
  const running = await start(dir);
  await shell(dir, "git switch -qc other");
  await running.says(/Triggers wait: The branch "other" is checked out/);
  put(dir, { "import/october.csv": OCTOBER });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(isThere(dir, "import/october.csv")).toBe(true);
  expect((await cleared(dir, "import", "import/october.csv")).code).toBe(2);
  await shell(dir, "git switch -q main");
  await running.says(/Triggers continue/);
  await until(() => isThere(dir, "import/processed/october.csv"));
  expect(running.said().match(/Triggers wait/g)).toHaveLength(1);
  await running.stop();
});

test("a person's edit of a file holds the run back until it is undone; then it commits automatically", async () => {
  const dir = await workspace();
  put(dir, { "october.csv": OCTOBER });
  await cleared(dir, "import", "october.csv");
  const running = await start(dir);
  appendFileSync(join(dir, "journal/2026/10.journal"), "; mine\n");
  put(dir, { "import/later.csv": LATER });
  await running.says(/waiting {2}ingest .*user_edit: journal\/2026\/10\.journal/);
  expect(readFileSync(join(dir, "journal/2026/10.journal"), "utf8")).toMatch(/; mine/);
  await shell(dir, "git checkout -q journal");
  await running.says(/3 rows: 1 new, 2 already in the books/);
  await running.stop();
  await agrees(dir);
});

test("a second start names the owner, commands use the socket, and a signal to the whole group ends everything once", async () => {
  const dir = await workspace({ "agents/slow.ts": '/*\nname: Slow\nuses: [ctx]\n*/\nfor (let i = 0; i < 3000; i++) ctx_log("x");\n1\n' });
  const running = await start(dir);
  const second = await cleared(dir, "start");
  expect(second).toMatchObject({ code: 4 });
  expect(second.stderr).toMatch(new RegExp(`OWNER_BUSY\\n.*runs here already \\(process ${running.pid}\\)`));

  const asked = cleared(dir, "run", "slow", "--json");
  await until(async () => (await cleared(dir, "runs", "--json")).json().length === 1);
  // As a terminal does on Ctrl-C: every process of the group hears it, twice.
  process.kill(-running.pid, "SIGINT");
  const again = setTimeout(() => process.kill(-running.pid, "SIGINT"), 5);
  void running.ended.then(() => clearTimeout(again));
  // null: the second one came when all was closed and Node itself was going; "Stopped." below says that it was.
  expect([0, null]).toContain(await running.ended);
  expect(running.said().match(/Stopped\./g)).toHaveLength(1);
  await asked;
  const left = await shell(dir, `ps -eo pid=,args= | grep -F '${dir}' | grep -v grep; true`);
  expect(left.stdout).toBe("");
  const [run] = (await cleared(dir, "runs", "--json")).json();
  if (run.status !== "done") expect((await cleared(dir, "runs", "resume", run.id, "--json")).json().status).toBe("done");
});

test("a changed trust.yaml or plugin stops start, before its code is loaded, until a person accepts it", async () => {
  const dir = await workspace();
  await (await start(dir)).stop();
  await shell(dir, "sed -i 's/^plugins:.*/plugins: [plugins\\/touch.ts]/' trust.yaml && grep -q touch trust.yaml");
  put(dir, {
    "plugins/touch.ts": `import { writeFileSync } from "node:fs";\nwriteFileSync(${JSON.stringify(join(dir, "loaded"))}, "");\nexport const nothing = 1;\n`,
  });
  const refused = await cleared(dir, "start");
  expect(refused.code).toBe(3);
  expect(refused.stderr).toMatch(/TRUST_CHANGED/);
  expect(isThere(dir, "loaded")).toBe(false);
  rmSync(join(dir, "plugins"), { recursive: true });
  await shell(dir, "git checkout -q trust.yaml && echo '# looked at' >>trust.yaml");
  expect((await cleared(dir, "start")).code).toBe(3);
  const accepted = await start(dir, "--accept-trust");
  expect(await accepted.stop()).toBe(0);
  expect(await (await start(dir)).stop()).toBe(0);
});

test("a port in use is named, and nothing is left behind", async () => {
  const dir = await workspace();
  const running = await start(dir);
  const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(running.said())?.[1] ?? "";
  const other = await workspace();
  const busy = await cleared(other, "start", "--port", port);
  expect(busy.code).toBe(4);
  expect(busy.stderr).toMatch(new RegExp(`PORT_BUSY\\nPort ${port} is in use by another program\\.\\nChoose`));
  put(other, { "config.yaml": readFileSync(join(other, "config.yaml"), "utf8").replace(/port: \d+/, `port: ${port}`) });
  expect((await cleared(other, "start")).stderr).toMatch(/in use by another program\. web\.port is set in \/.*\/config\.yaml\.\nChoose/);
  expect((await cleared(other, "runs")).code).toBe(0);
  await running.stop();
});

test("a file that cannot be imported is tried once, and again when a dialect or the agent changes", async () => {
  const dir = await workspace();
  const running = await start(dir);
  const runs = async () => (await cleared(dir, "runs", "--json")).json();
  put(dir, { "import/foreign.csv": "Datum;Zweck;Betrag\n05.11.2026;MIETE;-900,00\n" });
  await shell(dir, "truncate -s 200M import/huge.csv");
  await running.says(/foreign\.csv {2}not read[\s\S]*STATEMENT_DIALECT/);
  await running.says(/huge\.csv {2}not read[\s\S]*FILE_TOO_LARGE/);
  put(dir, { "import/october.csv": OCTOBER });
  await running.says(/october\.csv {2}generic/);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const before = (await runs()).length;
  expect(before).toBeLessThanOrEqual(3); // the huge file may be seen before the small one
  expect((await cleared(dir, "queue", "--json")).json().filter((card: { kind: string }) => card.kind === "row")).toHaveLength(2);

  const dialect =
    'name: foreign\ndelimiter: ";"\nmatch: { header: [Datum, Zweck, Betrag] }\ncolumns: { date: Datum, description: Zweck, amount: Betrag }\ndate: DD.MM.YYYY\namount: { decimal: ",", thousands: "." }\n';
  await commit(dir, { "importers/foreign.yaml": dialect });
  await running.says(/foreign\.csv {2}foreign/);
  await until(() => isThere(dir, "import/processed/foreign.csv"));

  const script = readFileSync(join(dir, "agents/ingest.ts"), "utf8");
  await commit(dir, { "agents/ingest.ts": script.replace("const files =", 'throw new Error("broken");\nconst files =') });
  put(dir, { "import/later.csv": LATER });
  await running.says(/failed {2}ingest .*SCRIPT_ERROR at agents\/ingest\.ts:/);
  // The set of waiting files may have grown between two looks, and each set is tried once; after that there is rest.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const failed = (await runs()).length;
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect(await runs()).toHaveLength(failed);
  await commit(dir, { "agents/ingest.ts": `${script}\n` });
  await running.says(/later\.csv {2}generic/);
  await running.stop();
  await agrees(dir);
});

test("a file whose import was undone stays in import/ and says why; a waiting file is told again only when something about it changed", async () => {
  const dir = await workspace();
  put(dir, { "october.csv": OCTOBER });
  await cleared(dir, "import", "october.csv");
  await cleared(dir, "undo", "import", "--yes");
  const running = await start(dir);
  await running.says(/october\.csv came back because its import was undone\. `cleared import` imports it again/);
  put(dir, {
    "import/card.csv": "Transaction Date,Post Date,Description,Category,Type,Amount\n10/03/2026,10/04/2026,AWS,Food,Sale,-4.50\n",
  });
  await running.says(/STATEMENT_ACCOUNT/);
  const runs = async () => (await cleared(dir, "runs", "--json")).json().length;
  const before = await runs();
  appendFileSync(join(dir, "config.yaml"), "# a remark\n");
  await shell(dir, "git commit -qam 'config: a remark'");
  await until(async () => (await runs()) > before);
  await until(async () => (await cleared(dir, "runs", "--json")).json().every(({ status }: { status: string }) => status === "done"));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(await runs()).toBe(before + 1);
  expect(running.said().match(/STATEMENT_ACCOUNT/g)).toHaveLength(1);
  expect(running.said().match(/came back/g)).toHaveLength(1);
  await running.stop();
});

test("an agent that watches another folder runs once for a file there, and statements elsewhere do not start it", async () => {
  const dir = await workspace({
    "agents/inbox.ts": '/*\nname: Inbox\ntrigger: file_watch\nwatch: inbox\nuses: [ctx]\n*/\nctx_log("seen");\n1\n',
  });
  const running = await start(dir);
  put(dir, { "import/october.csv": OCTOBER });
  await running.says(/october\.csv {2}generic/);
  const runs = async () => (await cleared(dir, "runs", "--agent", "inbox", "--json")).json();
  expect(await runs()).toEqual([]);
  put(dir, { "inbox/letter.txt": "hello" });
  await until(async () => (await runs()).length === 1, 25_000);
  await running.stop();
  await (await start(dir)).stop();
  expect(await runs()).toHaveLength(1);
});
