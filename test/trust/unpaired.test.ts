/** A browser decides only where it was paired, and no longer once its person has ended that, whatever store is there. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, it, vi } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { createFacts } from "../../runtime/app/facts.ts";
import type { Host } from "../../runtime/app/host.ts";
import { newPairing } from "../../runtime/app/sessions.ts";
import { writePrivate } from "../../runtime/workspace/own-folders.ts";
import { begin, keysOf, made } from "../engine/gates.ts";
import { close, closeAll, copyOf, host, openCard, removeAll } from "../engine/harness.ts";

afterEach(closeAll);
afterAll(removeAll);

const pair = async (opened: Host): Promise<string> => {
  const { code, name, pairing } = newPairing(opened.dir, opened.trust, opened.clock.now());
  await createApi(opened).pair({ name, pairing });
  return createFacts(opened, createApi(opened)).pair(code);
};

it("a store from a backup, or in another folder, pairs no browser again", async () => {
  const { one, opened } = await made({ Ann: { roles: ["manager"] }, Bob: {} });
  const store = join(one.dir, ".cleared/store.db");
  writePrivate(`${one.dir} ann.pem`, keysOf("Ann").pem);
  vi.stubEnv("CLEARED_KEY", `${one.dir} ann.pem`);
  const { id } = await begin(opened, "simple", { params: { to: "A", amount: "5.00" } }, "Bob");
  const cookie = await pair(opened);
  const isAnn = async (at: Host) => (await createFacts(at, createApi(at)).person(cookie)) === "Ann";
  expect(await isAnn(opened)).toBe(true);
  await close(opened);
  const copy = await host(copyOf(one));
  expect(await isAnn(copy)).toBe(false);
  copyFileSync(store, `${one.dir} backup.db`);
  const owner = await host(one);
  expect(await createApi(owner).unpair({ by: "Ann" })).toBe(1);
  await close(owner);
  copyFileSync(`${one.dir} backup.db`, store);
  const again = await host(one);
  const facts = createFacts(again, createApi(again));
  expect(await isAnn(again)).toBe(false);
  const { id: card } = openCard(again, id);
  await expect(facts.decide(card, { decision: "approved" }, cookie)).rejects.toMatchObject({ code: "APPROVAL_IDENTITY" });
  await new Promise((next) => setTimeout(next, 5));
  expect(await facts.person(await pair(again))).toBe("Ann");
  vi.unstubAllEnvs();
});
