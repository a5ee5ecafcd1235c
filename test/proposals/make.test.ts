/** An edit becomes a proposal and leaves the working tree, and no byte of it is lost, wherever it stood and whenever it is interrupted. */
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { workChanges } from "../../runtime/app/work-tree.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { finishProposing, proposeBranch, proposeEdits, proposeFolder } from "../../runtime/change/proposals/make.ts";
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { type Workspace, closeAll, removeAll } from "../engine/harness.ts";
import { A, filesIn, opened, wording } from "./edits.ts";

afterEach(closeAll);
afterAll(removeAll);

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "nothing was thrown",
    (error: unknown) => (error instanceof ClearedError ? `${error.code}: ${error.message}` : String(error)),
  );

describe("from the working tree", () => {
  it("changed, new, deleted and renamed files leave; other edits stay and are named", async () => {
    const { one, owner } = await opened();
    one.write("agents/a.ts", `${A}2\n`);
    one.write("agents/new.ts", A);
    renameSync(join(one.dir, "scripts/old.ts"), join(one.dir, "scripts/new.ts"));
    rmSync(join(one.dir, "policies/p.yaml"));
    one.write("main.journal", `${one.read("main.journal")}\n; mine\n`);
    one.write("notes.txt", "mine");
    const made = await proposeEdits(owner, wording, []);
    expect(made.left).toEqual(["main.journal", "notes.txt"]);
    expect(made.kept).toEqual([]);
    expect(made.proposal.files).toEqual([
      { path: "agents/a.ts", change: "changed" },
      { path: "agents/new.ts", change: "added" },
      { path: "policies/p.yaml", change: "removed" },
      { path: "scripts/new.ts", change: "added" },
      { path: "scripts/old.ts", change: "removed" },
    ]);
    expect(one.git("status", "--porcelain")).toBe(" M main.journal\n?? notes.txt\n");
    expect(one.git("show", `${made.proposal.commit}:agents/a.ts`)).toBe(`${A}2\n`);
    expect(await codeOf(proposeEdits(owner, wording, []))).toMatch(/^PROPOSAL_EMPTY: None of what is edited .*main.journal, notes.txt/);
  });

  it("files that a commit of ours is just updating do not count as edits", async () => {
    const { one, owner } = await opened();
    const gitDir = join(one.dir, ".git");
    one.write("agents/a.ts", `${A}2\n`);
    one.write("agents/learnt.ts", A);
    one.git("add", "agents/learnt.ts");
    const old = one.git("rev-parse", "HEAD:agents");
    one.git("commit", "-qm", "learnt");
    expect(one.git("rev-parse", "HEAD:agents")).not.toBe(old);
    // As in its midst: HEAD has moved, the index and the files have not.
    renameSync(join(gitDir, "index"), join(gitDir, "index.next"));
    one.git("read-tree", "HEAD~");
    rmSync(join(one.dir, "agents/learnt.ts"));
    writeFileSync(join(gitDir, "index.lock"), `cleared lock ${process.pid} 0123456789ab`);
    setTimeout(() => {
      renameSync(join(gitDir, "index.next"), join(gitDir, "index"));
      one.write("agents/learnt.ts", A);
      rmSync(join(gitDir, "index.lock"));
    }, 200);
    const [work, made] = await Promise.all([
      workChanges(one.dir, owner.git.tree(await owner.git.head())),
      proposeEdits(owner, wording, []),
    ]);
    expect([...work.files.keys()]).toEqual(["agents/a.ts"]);
    expect(made.proposal.files).toEqual([{ path: "agents/a.ts", change: "changed" }]);
  });

  it("removes staged edits and intents to add from the index too", async () => {
    const { one, owner } = await opened();
    one.write("agents/a.ts", `${A}2\n`);
    one.git("rm", "-q", "scripts/old.ts");
    one.write("agents/new.ts", A);
    one.git("add", "agents/a.ts", "agents/new.ts");
    one.write("agents/later.ts", A);
    one.git("add", "-N", "agents/later.ts");
    one.write("notes.txt", "staged");
    one.git("add", "notes.txt");
    const made = await proposeEdits(owner, wording, []);
    expect(made.proposal.files.map(({ path }) => path)).toEqual(["agents/a.ts", "agents/later.ts", "agents/new.ts", "scripts/old.ts"]);
    expect(one.git("status", "--porcelain")).toBe("A  notes.txt\n");
  });

  it("proposes only what is named; a folder means its contents", async () => {
    const { one, owner } = await opened();
    for (const path of ["agents/a.ts", "agents/b.ts", "scripts/old.ts"]) one.write(path, "7\n");
    const made = await proposeEdits(owner, wording, ["agents/"]);
    expect(made.proposal.files.map(({ path }) => path)).toEqual(["agents/a.ts", "agents/b.ts"]);
    expect(made.left).toEqual(["scripts/old.ts"]);
    expect(await codeOf(proposeEdits(owner, wording, ["agents/a.ts"]))).toMatch(/^USAGE: "agents\/a.ts" has no edit/);
    one.write("trust.yaml", "people: []\n");
    expect(await codeOf(proposeEdits(owner, wording, ["trust.yaml"]))).toMatch(/^PROPOSAL_PATH: "trust.yaml"/);
    expect(one.read("trust.yaml")).toBe("people: []\n");
  });

  it.each<[string, (one: Workspace) => void, RegExp]>([
    [
      "staged in part",
      (one) => {
        one.write("agents/a.ts", "2\n");
        one.git("add", "agents/a.ts");
        one.write("agents/a.ts", "3\n");
      },
      /staged with other content/,
    ],
    [
      "staged, and the file taken back",
      (one) => {
        one.write("agents/a.ts", "2\n");
        one.git("add", "agents/a.ts");
        one.write("agents/a.ts", A);
      },
      /staged with other content/,
    ],
    ["removed from the index only", (one) => void one.git("rm", "-q", "--cached", "agents/a.ts"), /staged with other content/],
    [
      "a link",
      (one) => {
        rmSync(join(one.dir, "agents/a.ts"));
        symlinkSync("../trust.yaml", join(one.dir, "agents/a.ts"));
      },
      /is a link/,
    ],
    ["a new link", (one) => symlinkSync("../trust.yaml", join(one.dir, "agents/l.ts")), /is a link/],
    ["executable", (one) => chmodSync(join(one.dir, "agents/a.ts"), 0o755), /executable bit/],
    [
      "new and executable",
      (one) => {
        one.write("agents/x.ts", A);
        chmodSync(join(one.dir, "agents/x.ts"), 0o755);
      },
      /executable bit/,
    ],
    ["no text", (one) => writeFileSync(join(one.dir, "agents/a.ts"), Buffer.from([0x31, 0xff, 0xfe])), /not text in UTF-8/],
    ["with a NUL", (one) => one.write("agents/a.ts", "1\0"), /not text in UTF-8/],
    ["too large", (one) => one.write("knowledge/big.md", "x".repeat(1_000_001)), /1000001 bytes/],
    ["a look-alike", (one) => one.write("agents/A.ts", A), /looks like "agents\/a.ts"/],
  ])("an edit that is %s is refused in words, and stays as it is", async (_, edit, words) => {
    const { one, owner } = await opened();
    edit(one);
    const before = [filesIn(one), one.git("status", "--porcelain=v2"), one.git("ls-files", "--stage")];
    expect(await codeOf(proposeEdits(owner, wording, []))).toMatch(words);
    expect([filesIn(one), one.git("status", "--porcelain=v2"), one.git("ls-files", "--stage")]).toEqual(before);
    expect(await createProposals(owner).list()).toEqual([]);
    expect(await finishProposing(owner)).toBeNull();
  });

  it("waits during a merge", async () => {
    const { one, owner } = await opened();
    one.git("switch", "-q", "-c", "other");
    one.commit({ "agents/a.ts": "5\n" });
    one.git("switch", "-q", "main");
    one.commit({ "agents/a.ts": "6\n" });
    expect(() => one.git("merge", "other")).toThrow();
    expect(await codeOf(proposeEdits(owner, wording, []))).toMatch(/^GIT_STATE: A merge is in progress/);
  });

  it("line ends are restored according to the user's own setting", async () => {
    const { one, owner } = await opened();
    one.git("config", "core.autocrlf", "true");
    one.write("agents/a.ts", A.replaceAll("\n", "\r\n"));
    one.write("agents/b.ts", "7\r\n8\r\n");
    const made = await proposeEdits(owner, wording, []);
    expect(made.proposal.files).toEqual([{ path: "agents/b.ts", change: "added" }]);
    expect(one.git("show", `${made.proposal.commit}:agents/b.ts`)).toBe("7\n8\n");
    one.git("config", "core.autocrlf", "false");
    one.commit({ ".gitattributes": "* -text\n" });
    one.write("agents/c.ts", "7\r\n8\n");
    const raw = await proposeEdits(owner, { ...wording, title: "c" }, ["agents/c.ts"]);
    expect(one.git("show", `${raw.proposal.commit}:agents/c.ts`)).toBe("7\r\n8\n");
  });
});

describe("from a branch or a folder", () => {
  it("a branch is proposed as its difference from where it started", async () => {
    const { one, owner } = await opened();
    one.git("switch", "-q", "-c", "idea");
    one.commit({ "agents/a.ts": "5\n", "agents/b.ts": A });
    one.git("switch", "-q", "main");
    const base = one.git("rev-parse", "HEAD").trim();
    one.commit({ "agents/other.ts": A });
    const made = await proposeBranch(owner, wording, "idea");
    expect(made.proposal).toMatchObject({ base, files: [{ path: "agents/a.ts" }, { path: "agents/b.ts", change: "added" }] });
    expect(await proposeBranch(owner, wording, "idea")).toMatchObject({ known: true, proposal: { id: made.proposal.id } });
    expect(await codeOf(proposeBranch(owner, wording, "--upload-pack=x"))).toMatch(/^GIT_STATE: There is no branch/);
    expect(await codeOf(proposeBranch(owner, wording, "main"))).toMatch(/^PROPOSAL_EMPTY/);
    one.git("switch", "-q", "-c", "bad");
    one.commit({ "trust.yaml": "people: []\n", "main.journal": "" });
    one.git("switch", "-q", "main");
    expect(await codeOf(proposeBranch(owner, wording, "bad"))).toMatch(/^PROPOSAL_PATH: "main.journal"/);
  });

  it("a folder is laid out like a workspace; what equals HEAD is omitted", async () => {
    const { one, owner } = await opened();
    const from = join(one.dir, "..", "from");
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(from, path)), { recursive: true });
      writeFileSync(join(from, path), text);
    };
    write("agents/a.ts", "9\n");
    write("trust.yaml", one.read("trust.yaml"));
    const made = await proposeFolder(owner, wording, from);
    expect(made.proposal.files).toEqual([{ path: "agents/a.ts", change: "changed" }]);
    write("trust.yaml", "people: []\n");
    expect(await codeOf(proposeFolder(owner, { ...wording, title: "x" }, from))).toMatch(/^PROPOSAL_PATH: "trust.yaml"/);
    rmSync(join(from, "trust.yaml"));
    symlinkSync("/etc/passwd", join(from, "agents/p.ts"));
    expect(await codeOf(proposeFolder(owner, { ...wording, title: "x" }, from))).toMatch(/^PROPOSAL_PATH: "agents\/p.ts" is a link/);
    expect(await codeOf(proposeFolder(owner, wording, join(from, "nowhere")))).toMatch(/^FILE_MISSING/);
  });
});

describe("interrupted", () => {
  it("edits stay while their proposal cannot be checked, and the next call takes the same proposal", async () => {
    const { one, owner } = await opened();
    one.write("agents/a.ts", "2\n");
    const checked: number[] = [];
    const fails = async ({ number }: Proposal) => {
      checked.push(number);
      throw new Error("no memory");
    };
    expect(await codeOf(proposeEdits(owner, wording, [], fails))).toBe("Error: no memory");
    expect(one.git("status", "--porcelain")).toBe(" M agents/a.ts\n");
    expect(await proposeEdits(owner, wording, [])).toMatchObject({ known: true, proposal: { number: checked[0] } });
    expect(one.git("status", "--porcelain")).toBe("");
  });

  it("a file edited again meanwhile stays", async () => {
    const { one, owner } = await opened();
    one.write("agents/a.ts", "2\n");
    one.write("agents/b.ts", "2\n");
    const { proposal } = await proposeEdits(owner, wording, []);
    // As if it had been killed before the files went back, and a person had gone on editing one of them.
    const edits = ["agents/a.ts", "agents/b.ts"].map((path) => ({
      path,
      item: { mode: "100644", oid: one.git("rev-parse", `${proposal.commit}:${path}`).trim() },
      intent: false,
    }));
    const draft = { ...wording, files: { "agents/a.ts": "2\n", "agents/b.ts": "2\n" } };
    one.write(".cleared/propose.json", JSON.stringify({ draft, base: proposal.base, edits }));
    one.write("agents/a.ts", "2 and more\n");
    one.write("agents/b.ts", "2\n");
    expect(await finishProposing(owner)).toMatchObject({ kept: ["agents/a.ts"], proposal: { id: proposal.id } });
    expect(one.git("status", "--porcelain")).toBe(" M agents/a.ts\n");
    expect(one.read("agents/a.ts")).toBe("2 and more\n");
    for (const garbage of ["", "{", "[]", '{"edits":[{"path":"../x"}]}']) {
      one.write(".cleared/propose.json", garbage);
      expect(await finishProposing(owner)).toBeNull();
    }
  });
});
