/** What an owner looks at again and again: a failure is told once and looked at again, one look at a time. */
import { expect, test, vi } from "vitest";
import { keepLooking } from "../../runtime/app/looks.ts";

test.each([
  ["before it waits for anything", () => (): never => fail("busy")],
  ["after it has waited", () => async () => fail("busy")],
])("a check that fails %s is repeated, and reported once", async (_, failing) => {
  const told: unknown[] = [];
  let looks = 0;
  const fails = failing();
  const looking = keepLooking(
    5,
    () => {
      looks++;
      return fails();
    },
    (error) => told.push((error as Error).message),
  );
  await vi.waitFor(() => expect(looks).toBeGreaterThan(3), 60_000);
  await looking.stop();
  expect(told).toEqual(["busy"]);
});

test("the first check can run at once, without a second one in parallel", async () => {
  let [under, most] = [0, 0];
  const looking = keepLooking(
    5,
    async () => {
      most = Math.max(most, ++under);
      await new Promise((resolve) => setTimeout(resolve, 30));
      under--;
    },
    fail,
    { atOnce: true },
  );
  expect(under).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 80));
  await looking.stop();
  expect([under, most]).toEqual([0, 1]);
});

function fail(why: unknown): never {
  throw new Error(String(why));
}
