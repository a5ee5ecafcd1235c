/** The dry run behind `cleared check`: on recorded runs, else on what is made up; and acts it would hardly meet. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { checkFiles } from "../../runtime/app/check-api.ts";
import { removeAll, run } from "../engine/harness.ts";
import { lines, tried } from "../evidence/trials.ts";
import { check, fresh, header, place, told } from "./checked.ts";

afterAll(removeAll);

const STATEMENT = readFileSync(join(import.meta.dirname, "../../examples/statements/chase-checking-2026-10.csv"), "utf8");

describe("the dry run", () => {
  test("books synthetic statements, writes nothing, and says what it would do", async () => {
    const { one, at } = await place();
    const before = one.git("status", "--porcelain", "--ignored");
    const { dryRun } = await check({ "agents/ingest.ts": `${one.read("agents/ingest.ts")}\n` });
    expect(dryRun[0]?.lines.slice(0, 2)).toEqual([
      "without input:",
      expect.stringMatching(/^ {2}books 30 entries, .* of them wait for a review$/),
    ]);
    expect(one.git("status", "--porcelain", "--ignored")).toBe(before);
    expect(at.cards.list()).toEqual([]);
    expect(await at.engine.list({})).toEqual([]);
  });

  test("a statement's file pattern with folders in it writes nothing outside of the dry run", async () => {
    const { one } = await place();
    const outside = join(one.dir, "outside.csv");
    const statements = `statements: [{match: {file: "${"../".repeat(15)}${outside.slice(1)}"}, account: 1010, dialect: generic}]`;
    const { dryRun } = await check({
      "agents/ingest.ts": `${one.read("agents/ingest.ts")}\n`,
      "config.yaml": one.read("config.yaml").replace("statements: []", statements),
    });
    expect(dryRun[0]?.lines[1]).toMatch(/books \d+ entries/);
    expect(existsSync(outside)).toBe(false);
  });

  test("uses the newest recorded runs if there are any, and calls no bank", async () => {
    const { one, at } = await fresh();
    await run(at, "quick", { n: 7 });
    expect((await run(at, "pay")).status).toBe("waiting");
    const bank = one.bank();
    const { dryRun } = await checkFiles(at, {
      all: false,
      files: {
        "agents/quick.ts": `${one.read("agents/quick.ts")}\n`,
        "agents/pay.ts": `${one.read("agents/pay.ts")}\n`,
      },
    });
    expect(dryRun.map(({ agent, lines }) => [agent, lines])).toEqual([
      ["pay", expect.arrayContaining(["  asks: Pay ACME 120.00 USD?", `  calls bank_pay {"to":"ACME","amount":"120.00"} after approval`])],
      ["quick", [expect.stringMatching(/^run_\w+:$/), `  answers {"n":7}`]],
    ]);
    expect(one.bank()).toEqual(bank);
  });

  test("remarks that a new agent completed with no input, and uses the header's defaults like a start", async () => {
    const { at } = await fresh();
    const with_ = async (code: string) => {
      const checked = await checkFiles(at, {
        all: false,
        files: { "agents/new.ts": `${header("journal, accounts", 'input: {to: {type: string, default: "5020"}}\n')}${code}` },
      });
      return checked.checks.find(({ check }) => check === "dry_run");
    };
    expect(await with_("journal_query({ limit: 100000000 }).length;\n")).toMatchObject({
      status: "ok",
      findings: [
        { code: "PARAMS_INVALID", remark: true, message: expect.stringMatching(/None of the \d inputs .* came to its end.*limit/) },
      ],
    });
    expect(await with_("({ there: accounts_exists(input.to) });\n")).toMatchObject({ status: "ok", findings: [] });
  });

  test("fails if every recorded run fails now, with any error, and remarks if only some do", async () => {
    const { one, at } = await fresh();
    const old = one.read("agents/quick.ts");
    for (const n of [7, 8]) await run(at, "quick", { n });
    const with_ = async (line: string) => {
      const checked = await checkFiles(at, { all: false, files: { "agents/quick.ts": old.replace("*/\n", `*/\n${line}\n`) } });
      return checked.checks.find(({ check }) => check === "dry_run");
    };
    const all = await with_('throw new Error("not any more");');
    expect(all).toMatchObject({
      status: "failed",
      findings: [{ code: "SCRIPT_ERROR", message: expect.stringContaining("Each of the 2 newest recorded runs now fails, run_") }],
    });
    const some = await with_('if (input.n === 7) throw new Error("not seven");');
    expect(some).toMatchObject({
      status: "ok",
      findings: [{ remark: true, message: expect.stringContaining("1 of the 2 newest recorded runs now fails") }],
    });
  });

  test("fails if all runs that ended well fail now, even if the newest had failed before", async () => {
    const { one, at } = await fresh();
    const text = `${header("ctx", "input: {n: {type: integer, required: true}}\n")}if (input.n > 5) throw new Error("too large");\ninput.n;\n`;
    one.commit({ "agents/limited.ts": text }, "agent: limited");
    for (const n of [1, 7, 8, 9]) await run(at, "limited", { n });
    const { checks } = await checkFiles(at, { all: false, files: { "agents/limited.ts": text.replace("> 5", "> 0") } });
    expect(checks.find(({ check }) => check === "dry_run")).toMatchObject({
      status: "failed",
      findings: [{ message: expect.stringContaining("recorded run that was tried now fails, run_") }],
    });
  });

  test("uses today's settings: a later setting can make the next run fail, or let it continue", async () => {
    const { one, at } = await fresh();
    const text = `${header("config", "input: {n: {type: integer, default: 1}}\n")}config_get("thresholds.auto_confirm");\n`;
    one.commit({ "agents/limited.ts": text }, "agent: limited");
    await run(at, "limited");
    const config = one.read("config.yaml");
    one.commit({ "config.yaml": config.replace("settings: {}", "settings: {vip: x}") }, "config: a setting");
    const files = { "agents/limited.ts": `${text}config_get("settings.vip");\n` };
    expect((await checkFiles(at, { all: false, files })).checks.filter((each) => each.status === "failed")).toEqual([]);
    expect(await tried(at, "limited", files)).toMatchObject({ runs: 1, counts: { failed: 0 } });
    one.commit({ "config.yaml": config.replace("auto_confirm:", "auto_confirmed:") }, "config: another name");
    const { checks } = await checkFiles(at, { all: false, files: {}, only: ["agents/limited.ts"] });
    expect(checks.find(({ check }) => check === "dry_run")?.findings).toMatchObject([
      { code: "CONFIG_MISSING", at: { file: "agents/limited.ts" } },
    ]);
  });

  test("uses today's accounts: a rule may book on one added after the recorded runs", async () => {
    const { one, at } = await fresh();
    one.write("import/october.csv", STATEMENT);
    await run(at, "ingest");
    const added = "account Expenses:Cloud\n    ; type: X, id: 5065\naccount Expenses:Office Supplies";
    const chart = one.read("main.journal");
    one.commit({ "main.journal": chart.replace("account Expenses:Office Supplies", added) }, "chart: Cloud");
    const text = one.read("agents/ingest.ts");
    const files = { "agents/ingest.ts": text.replace(`{ text: "AWS", account: 5020`, `{ text: "AWS", account: 5065`) };
    expect((await checkFiles(at, { all: false, files })).checks.filter((each) => each.status === "failed")).toEqual([]);
    const report = await tried(at, "ingest", files);
    expect(lines(report).slice(0, 2)).toEqual([
      "backtest on 1 real run: 0 same, 1 changed, 0 worse, 0 not replayable",
      "  1 entry  Expenses:Software -> Expenses:Cloud  127.50 USD  net 0.00 USD",
    ]);
    one.commit({ "main.journal": chart.replace(/account Expenses:Software\n.*\n/, "") }, "chart: no Software");
    const { checks } = await checkFiles(at, { all: false, files: {}, only: ["agents/ingest.ts"] });
    expect(checks.find(({ check }) => check === "dry_run")?.findings).toMatchObject([{ code: "ACCOUNT_UNKNOWN" }]);
  });

  test("reports an agent whose callee was removed", async () => {
    const { one, at } = await fresh();
    one.commit(
      { "agents/caller.ts": `${header("agent, agent:callee")}agent_call("callee");\n`, "agents/callee.ts": `${header("")}1;\n` },
      "agents",
    );
    expect(told(await checkFiles(at, { all: false, files: { "agents/callee.ts": null } }))).toContain(
      "header: agents/caller.ts:4 AGENT_UNKNOWN",
    );
  });

  test("reports what it could not try, and calls no tool", async () => {
    const { one } = await place();
    const { dryRun, checks } = await check({ "agents/invoice_reconciliation.ts": `${one.read("agents/invoice_reconciliation.ts")}\n` });
    expect(dryRun[0]?.lines.at(-1)).toBe(
      "  not tried further: erp/get_invoice is not reachable from a check, and has not answered a recorded run",
    );
    expect(checks.filter(({ status }) => status === "failed")).toEqual([]);
  });

  test.each([
    [
      "a TypeError on an input the header allows",
      `const parts = input.name.split("-");\nif (input.name === "") parts[5].length;`,
      ["dry_run: agents/x.ts:9:33 SCRIPT_ERROR"],
    ],
    ["a value it compares with", `if (input.name === "zulu") (null as any).x;`, ["dry_run: agents/x.ts:8:42 SCRIPT_ERROR"]],
    ["an endless loop", "while (true) {}", [/^dry_run: agents\/x\.ts(?::\d+:\d+)? LIMIT_/]],
    [
      "an entry that does not balance",
      `journal_add({ date: ctx_today(), description: "x", key: "k", legs: [{ account: 5030, debit: "1.00" }, { account: 1010, credit: "2.00" }] });`,
      ["invariants: agents/x.ts:8:1 JOURNAL_UNBALANCED"],
    ],
    ["its own refusal, which is right", `if (input.name === "") throw new Error("Name somebody.");`, []],
    [
      "what it makes of a simulated answer, which is not held against it",
      `const done = bank_wire({ to: "A", amount: "1" }) as any;\ndone.receipt.number.length;`,
      [/^dry_run: \(agents\/x\.ts:8:14 APPROVAL_REQUIRED\)$/],
    ],
  ])("meets %s", async (_, body, expected) => {
    await place();
    const files = {
      "agents/x.ts": `${header("ctx, journal, bank, approval", "input: {name: {type: string, required: true}}\n")}// body\n${body}`,
    };
    const found = told(await check(files)).filter((one) => /^(?:dry_run|invariants)/.test(one));
    expect(found).toHaveLength(expected.length);
    for (const [i, one] of found.entries()) expect(one).toMatch(expected[i] ?? "");
  });
});

describe("an act that depends on a date or on one odd value", () => {
  const pay = `bank_pay({ to: "A", amount: "1" })`;
  test.each([
    ["a day", `if (ctx_today() === "2027-03-01") ${pay};`, false],
    ["a day it leaves early for", `if (ctx_today() < "2027-03-01") return;\n${pay};`, false],
    ["the weekday", `const day = new Date(ctx_today()).getUTCDay();\nif (new Date(ctx_today()).getUTCDay() === 5) ${pay};`, false],
    ["an odd value, in a function", `function go() { ${pay}; }\nif (input.name === "V-4711") go();`, false],
    ["an odd value in a switch", `switch (input.name) { case "V-4711": ${pay}; }`, false],
    ["an odd value, behind another door", `input.name.startsWith("4711") && ${pay};`, false],
    [
      "a day, with a question before it",
      `if (ctx_today() === "2027-03-01") { approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "A", amount: "1" } }] }); ${pay}; }`,
      true,
    ],
    ["a day, for what it does otherwise too", `if (ctx_today() === "2027-03-01") ${pay};\nelse ${pay};`, true],
    ["a day, for what git can undo", `if (ctx_today() === "2027-03-01") journal_void({ entry_id: "a", reason: "because" });`, true],
    ["a word", `if (input.name === "open") ${pay};`, null],
    ["a threshold", `if (input.count > 1000) ${pay};`, null],
  ])("%s", async (_, body, remark) => {
    await place();
    const found = told(
      await check({
        "agents/x.ts": `${header("ctx, journal, bank, approval", "input: {name: {type: string, default: a}, count: {type: integer, default: 1}}\n")}${body}`,
      }),
    );
    const hidden = found.filter((one) => one.includes("CHECK_HIDDEN_BRANCH"));
    expect(hidden.map((one) => one.startsWith("capabilities: ("))).toEqual(remark === null ? [] : hidden.map(() => remark));
    expect(hidden.length > 0).toBe(remark !== null);
  });
});
