/** Looking for work costs what is open, not what has ever run. */
import { expect, test } from "vitest";
import { Database } from "../../runtime/engine/database.ts";
import { OPEN } from "../../runtime/engine/rows.ts";

test("runs that have not ended are found by their index", () => {
  const database = new Database(":memory:");
  const plan = database.all<{ detail: string }>(
    `EXPLAIN QUERY PLAN SELECT * FROM runs WHERE ${OPEN} AND status = 'queued' ORDER BY priority DESC, rid LIMIT 1`,
  );
  database.close();
  expect(plan.map(({ detail }) => detail)).toEqual(["SEARCH runs USING INDEX runs_open (status=?)"]);
});
