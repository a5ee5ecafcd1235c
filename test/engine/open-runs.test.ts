/** Looking for work, and everything that is listed again and again, costs what is asked for and not what has ever run. */
import { afterAll, afterEach, expect, test } from "vitest";
import { createFacts } from "../../runtime/app/facts.ts";
import { createApi } from "../../runtime/app/api.ts";
import { upkeepOnce } from "../../runtime/app/upkeep.ts";
import { wakeWaiting } from "../../runtime/app/wake.ts";
import { Database } from "../../runtime/engine/store/database.ts";
import { OPEN } from "../../runtime/engine/store/rows.ts";
import { openAlerts } from "../../runtime/outside/notices/alerts.ts";
import { closeAll, host, removeAll, run, workspace } from "./harness.ts";

afterEach(closeAll);
afterAll(removeAll);

test("open runs are found by their index", () => {
  const database = new Database(":memory:");
  const plan = database.all<{ detail: string }>(
    `EXPLAIN QUERY PLAN SELECT * FROM runs WHERE ${OPEN} AND status = 'queued' ORDER BY priority DESC, rid LIMIT 1`,
  );
  database.close();
  expect(plan.map(({ detail }) => detail)).toEqual(["SEARCH runs USING INDEX runs_open (status=?)"]);
});

test("no query of the page, the triggers, a command or a start reads every run, step or card", async () => {
  const one = await workspace();
  const asked = new Set<string>();
  const { statement } = Database.prototype;
  Database.prototype.statement = function (this: Database, sql: string) {
    asked.add(sql);
    return statement.call(this, sql);
  };
  try {
    const opened = await host(one);
    const { id } = await run(opened, "gate");
    const facts = createFacts(opened, createApi(opened));
    await Promise.all([facts.state(), facts.agents(), facts.runs(40), facts.cards(), facts.waiting(), facts.proposals(), facts.run(id)]);
    await Promise.all([facts.cards(id), facts.steps(id, { limit: 25 }), facts.events(id, { from: 1, limit: 200 })]);
    await wakeWaiting(opened);
    await opened.engine.list({ agent: "gate", status: ["done", "failed"], limit: 20, before: id });
    await opened.engine.list({ agent: "gate", cause: { kind: "agent", key: "x" }, limit: 1 });
    await opened.engine.list({ status: ["queued"], limit: 20 });
    opened.cards.list({ last: 200 });
    opened.cards.list({ open: true, kind: "entry" });
    openAlerts(opened.database, 0);
    opened.emitted();
    await opened.engine.cancel(id, "test");
    await upkeepOnce(opened, () => undefined);
    const plans = [...asked]
      .filter((sql) => /^\s*(?:SELECT|UPDATE|DELETE|INSERT)/.test(sql))
      .map((sql) => ({ sql, plan: opened.database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail) }));
    expect(plans.length).toBeGreaterThan(40);
    // In the order of their numbers, and no more than are asked for.
    const newest = /^SELECT \* FROM (?:runs WHERE 1 |cards WHERE 1 AND 1 AND 1 )ORDER BY r?id DESC LIMIT \?$|^SELECT 1 FROM runs LIMIT 1$/;
    const whole = plans.filter(
      ({ sql, plan }) =>
        !newest.test(sql) &&
        plan.some((step) =>
          /^SCAN (?:runs|cards|steps|events)\b(?!.* USING (?:COVERING )?INDEX (?:runs_ended|runs_wrong|cards_open|cards_proposals))/.test(
            step,
          ),
        ),
    );
    expect(whole).toEqual([]);
  } finally {
    Database.prototype.statement = statement;
  }
});
