/** The long way round: an edit that becomes a proposal is interrupted at every git command, and made of random edits. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { proposeEdits } from "../../runtime/change/proposals/make.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { closeAll, removeAll } from "../engine/harness.ts";
import { A, filesIn, opened, wording } from "./edits.ts";

afterEach(closeAll);
afterAll(removeAll);

it("interrupted at any git command, the next call continues; nothing is lost or doubled", async () => {
  const { one, owner } = await opened();
  const path = process.env["PATH"];
  const bin = join(one.dir, ".cleared/bin");
  const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
  mkdirSync(bin);
  for (let stop = 1, failed = true; failed; stop++) {
    one.write("agents/a.ts", `${stop}\n`);
    one.write("agents/new.ts", A);
    one.git("add", "agents/new.ts");
    rmSync(join(one.dir, "policies/p.yaml"));
    // From its nth start on, git answers nothing any more.
    const script = `#!/bin/sh\necho x >> "${bin}/count${stop}"\n[ $(wc -l < "${bin}/count${stop}") -lt ${stop} ] || exit 9\nexec "${real}" "$@"\n`;
    writeFileSync(join(bin, "git"), script, { mode: 0o755 });
    process.env["PATH"] = `${bin}:${path}`;
    failed = await proposeEdits(owner, wording, []).then(
      () => false,
      () => true,
    );
    process.env["PATH"] = path;
    if (failed) await proposeEdits(owner, wording, []);
    const all = await createProposals(owner).list();
    expect(all, `stopped at git command ${stop}`).toHaveLength(stop);
    const last = all.find(({ number }) => number === stop);
    expect(last?.files.map((file) => file.path)).toEqual(["agents/a.ts", "agents/new.ts", "policies/p.yaml"]);
    expect(one.git("show", `${last?.commit}:agents/a.ts`)).toBe(`${stop}\n`);
    expect(one.git("status", "--porcelain"), `stopped at git command ${stop}`).toBe("");
    expect(owner.cards.list({ kind: "proposal" })).toHaveLength(stop);
    if (!failed) expect(stop).toBeGreaterThan(8);
  }
});

describe("the tree before", () => {
  it("equals the tree after, with the proposal's change applied; for random edits", async () => {
    const { one, owner } = await opened({ "knowledge/k.md": "k\n", ".gitattributes": "* -text\n" });
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % below;
    };
    const PATHS = [
      "agents/a.ts",
      "agents/b.ts",
      "scripts/old.ts",
      "scripts/t/u.ts",
      "policies/p.yaml",
      "knowledge/k.md",
      "notes.txt",
      "data/d.json",
    ];
    const TEXTS = ["", "1", "2\n", "a\r\nb", "\ufeffbom\n", "é\u2028\n", "same\n"];
    for (let round = 0; round < 14; round++) {
      for (let edits = 1 + random(5); edits > 0; edits--) {
        const path = PATHS[random(PATHS.length)] ?? "";
        const act = random(5);
        if (act === 0) rmSync(join(one.dir, path), { force: true });
        else one.write(path, TEXTS[random(TEXTS.length)] ?? "");
        if (act === 1) one.git("add", "-A", "--", path);
      }
      // A path staged with other content than its file has is refused; here it is staged as it is.
      for (const line of one.git("status", "--porcelain").split("\n"))
        if (/^[AMD][MD?]/.test(line)) one.git("add", "-A", "--", line.slice(3));
      const before = filesIn(one);
      const made = await proposeEdits(owner, { ...wording, title: `Round ${round}` }, []).catch((error: ClearedError) => error);
      if (made instanceof ClearedError) expect([round, made.code]).toEqual([round, "PROPOSAL_EMPTY"]);
      else {
        expect(one.git("status", "--porcelain", "--", "agents", "scripts", "policies", "knowledge")).toBe("");
        for (const { path, change } of made.proposal.files) {
          if (change === "removed") rmSync(join(one.dir, path));
          else one.write(path, one.git("show", `${made.proposal.commit}:${path}`));
        }
      }
      expect(filesIn(one), `round ${round}`).toEqual(before);
      one.git("add", "-A");
      one.git("commit", "-q", "--allow-empty", "-m", `round ${round}`);
    }
  });
});
