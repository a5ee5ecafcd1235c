/** Any sequence of propose, approve, edit, revert, undo, book and restart leaves the tree that applied minus reverted gives, and true books. */
import fc from "fast-check";
import { afterAll, afterEach, expect, it } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { undo } from "../../runtime/change/proposals/undo.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { type Workspace, close, closeAll, host, removeAll, run, workspace } from "../engine/harness.ts";
import { decide, failure, ready, script } from "./ready.ts";

afterEach(closeAll);
afterAll(removeAll);

const FILES = ["agents/a.ts", "agents/b.ts"] as const;

interface Change {
  id: string;
  path: string;
  was: string;
  now: string;
  commit: string | null;
}

const choice = fc.nat({ max: 7 });
const move = fc.oneof(
  ...(["propose", "approve", "approve", "edit", "revert", "undo", "undo", "book", "unbook"] as const).map((what) =>
    fc.record({ what: fc.constant(what), n: choice }),
  ),
  fc.record({ what: fc.constant("restart" as const), n: choice }),
);

/** The workspace beside what it is expected to be. */
class Model {
  readonly texts = new Map<string, string>(FILES.map((path) => [path, script(path)]));
  readonly changes: Change[] = [];
  readonly booked: string[] = [];
  #count = 0;
  owner: Host;
  readonly one: Workspace;

  constructor(one: Workspace, owner: Host) {
    this.one = one;
    this.owner = owner;
  }

  async make({ what, n }: { what: string; n: number }): Promise<void> {
    const path = FILES[n % FILES.length] ?? FILES[0];
    const some = this.changes[n % Math.max(1, this.changes.length)];
    const fresh = script(`text ${++this.#count}`);
    if (what === "propose") await this.#propose(path, fresh);
    else if (what === "edit") {
      this.one.commit({ [path]: fresh });
      this.texts.set(path, fresh);
    } else if (what === "restart") {
      await close(this.owner);
      this.owner = await host(this.one);
    } else if (what === "book") {
      const { id, status } = await run(this.owner, "book", { key: `k${this.#count}`, day: `2026-11-0${1 + n}` });
      expect(status).toBe("done");
      this.booked.push(id);
    } else if (what === "unbook") {
      const id = this.booked.splice(n % Math.max(1, this.booked.length), 1)[0];
      if (id !== undefined) await undo(this.owner, id, { by: "Pat" });
    } else if (some !== undefined) await this.#decide(what, some);
  }

  async #propose(path: string, now: string): Promise<void> {
    const { id } = await ready(this.owner, { [path]: now }, { title: `Change ${this.#count}` });
    this.changes.push({ id, path, was: this.texts.get(path) ?? "", now, commit: null });
  }

  async #decide(what: string, change: Change): Promise<void> {
    const { owner, texts, one } = this;
    const isAt = (text: string) => texts.get(change.path) === text;
    const proposal = await createProposals(owner).get(change.id);
    if (what === "approve") {
      const expected =
        proposal.state === "ready" && isAt(change.was)
          ? "none"
          : proposal.state === "applied" || proposal.state === "reverted"
            ? "CARD_CLOSED"
            : "PROPOSAL_STATE";
      expect((await failure(decide(owner, proposal))).code).toBe(expected);
      if (expected !== "none") return;
      texts.set(change.path, change.now);
      change.commit = one.git("rev-parse", "HEAD").trim();
      return;
    }
    const holds = proposal.state === "applied" && isAt(change.now);
    if (what === "undo") {
      expect((await failure(undo(owner, change.id, { by: "Pat" }))).code).toBe(holds ? "none" : "UNDO_REFUSED");
    } else if (holds && change.commit !== null) one.git("revert", "--no-edit", change.commit);
    else return;
    if (holds) texts.set(change.path, change.was);
  }
}

it("the tree equals what was applied and not reverted; the books are valid", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 8, maxLength: 12 }), async (moves) => {
      const one = await workspace(Object.fromEntries(FILES.map((path) => [path, script(path)])));
      const model = new Model(one, await host(one));
      for (const each of [{ what: "propose", n: 0 }, { what: "approve", n: 0 }, ...moves]) {
        await model.make(each);
        for (const path of FILES) expect(one.git("show", `HEAD:${path}`), JSON.stringify(each)).toBe(model.texts.get(path));
        expect(one.git("status", "--porcelain")).toBe("");
      }
      const head = model.owner.git.tree(await model.owner.git.head());
      expect((await verifyBooks(head, await model.owner.config())).findings).toEqual([]);
      const lines = await Promise.all((await head.list("journal/")).map(({ path }) => head.read(path)));
      expect(lines.join("").match(/Booked/g)?.length ?? 0).toBe(model.booked.length);
      await close(model.owner);
    }),
    { numRuns: 3, seed: 20261122, endOnFailure: true },
  );
});
