/** `cleared propose` killed for real, at one git command after the other: the next one finishes, nothing is lost, nothing is there twice. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { put, shell, workspace } from "./command-line.ts";

test("killed at any of its git commands, the edit becomes exactly one proposal", async () => {
  const dir = await workspace();
  const real = execFileSync("which", ["git"], { encoding: "utf8" }).trim();
  const git = (...args: string[]) => execFileSync(real, args, { cwd: dir, encoding: "utf8" }).trim();
  const header = "/*\nname: Hello\n*/\n";
  put(dir, { "agents/hello.ts": `${header}0\n` });
  git("add", "agents");
  git("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "commit", "-qm", "agents: hello");
  const bin = join(dir, ".cleared/bin");
  mkdirSync(bin, { recursive: true });
  let killed = 0;
  for (const [round, stop] of [5, 10, 14, 17].entries()) {
    put(dir, { "agents/hello.ts": `${header}${round + 1}\n`, "agents/new.ts": `${header}${round}\n` });
    git("add", "-N", "agents/new.ts");
    const count = join(bin, `count${stop}`);
    const script = `#!/bin/sh\necho x >> "${count}"\n[ $(wc -l < "${count}") -ne ${stop} ] || { kill -9 $PPID; exit 9; }\nexec "${real}" "$@"\n`;
    writeFileSync(join(bin, "git"), script, { mode: 0o755 });
    const title = `Round ${round}`;
    const first = await shell(dir, `PATH=${bin}:$PATH cleared propose -m '${title}'`);
    if (first.code !== 0 && first.code !== 1) {
      killed += 1;
      await shell(dir, `cleared propose -m '${title}'`);
    }
    expect(git("status", "--porcelain", "--", "agents"), `killed at git command ${stop}`).toBe("");
    const listed = JSON.parse((await shell(dir, "cleared proposals --json")).stdout) as {
      proposals: { title: string; commit: string; number: number }[];
    };
    expect(listed.proposals, `killed at git command ${stop}`).toHaveLength(round + 1);
    const mine = listed.proposals.find((one) => one.title === title);
    expect(mine?.number).toBe(round + 1);
    expect(git("show", `${mine?.commit}:agents/hello.ts`)).toBe(`${header}${round + 1}`);
    expect(git("show", `${mine?.commit}:agents/new.ts`)).toBe(`${header}${round}`);
  }
  expect(killed).toBeGreaterThan(1);
});
