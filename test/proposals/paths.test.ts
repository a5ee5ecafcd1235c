/** What a proposal may change, path by path; every row is one way in that must stay shut, or one that must stay open. */
import { describe, expect, it } from "vitest";
import type { Tree } from "../../runtime/kernel/ports.ts";
import { isProposable, problemsOf } from "../../runtime/change/proposals/paths.ts";

/** A commit's files; a value in brackets is a mode. */
function treeOf(files: Record<string, string>): Tree {
  const modeOf = (path: string) => /^\[(\d+)\]$/.exec(files[path] ?? "")?.[1];
  return {
    commit: "0".repeat(40),
    read: async (path) => (modeOf(path) === undefined ? (files[path] ?? null) : null),
    blob: async (path) => (modeOf(path) === undefined ? (files[path] ?? null) : null),
    list: async (folder) =>
      Object.entries(files).flatMap(([path, blob]) => (path.startsWith(folder) && modeOf(path) === undefined ? [{ path, blob }] : [])),
    item: async (path) => {
      if (files[path] !== undefined) return { mode: modeOf(path) ?? "100644", oid: "" };
      return Object.keys(files).some((one) => one.startsWith(`${path}/`)) ? { mode: "40000", oid: "" } : null;
    },
  };
}
const head = treeOf({
  "agents/a.ts": "1",
  "cases/a/one.yaml": "case: 1",
  "knowledge/über.md": "ü",
  policies: "[120000]",
  "scripts/sub": "[160000]",
});
const said = async (files: Record<string, string | null>, by = "Pat", reason = "") =>
  (await problemsOf(files, { by, head, reason })).map(({ message }) => message).join(" | ");

describe("paths", () => {
  it.each([
    "agents/a.ts",
    "agents/vendor-bills_2.ts",
    "scripts/round.ts",
    "scripts/tools/fx/rate.ts",
    "policies/payroll.yaml",
    "importers/bank.yaml",
    "config.yaml",
    "knowledge/vendors.md",
    "knowledge/de/Grüße und mehr.md",
    "cases/a/one.yaml",
  ])("%s may be changed", (path) => expect(isProposable(path)).toBe(true));

  it.each([
    // authority and books
    ...["trust.yaml", "main.journal", "journal/2026/11.journal", "import/x.csv", "audit/x", "data/x.json", "plugins/bank.ts"],
    ...["package.json", "package-lock.json", ".gitattributes", ".gitignore", ".gitmodules", ".cleared/person.key", ".env"],
    // the right folder, another kind of file
    ...["agents/sub/a.ts", "agents/a.js", "agents/a.ts/x.ts", "agents/.a.ts", "agents/a.d.ts", "policies/sub/p.yaml", "cases/a.yml"],
    ...["agents", "agents/", "cases/", "knowledge/"],
    // out of the workspace, or into git
    ...[
      "../trust.yaml",
      "agents/../trust.yaml",
      "/etc/passwd",
      "C:/x.ts",
      "agents\\a.ts",
      "knowledge/../../x",
      "knowledge//x",
      "./config.yaml",
    ],
    ...["knowledge/.git/config", "knowledge/.GIT/config", "knowledge/git~1/config", "scripts/.git/x.ts", "cases/.gitattributes"],
    // what people or file systems read as another name
    ...[
      "AGENTS/a.ts",
      "Config.yaml",
      "trust.yaml ",
      "config.yaml.",
      "agents/a.ts\n",
      "agents/a\u0000.ts",
      "agents/\u202ea.ts",
      "knowledge/u\u0308.md",
    ],
    ...["knowledge/a\u200bb.md", "knowledge/\ud800.md", "agents/\u0430.ts", `knowledge/${"x".repeat(400)}`],
  ])("%j may not", (path) => expect(isProposable(path)).toBe(false));
});

describe("files", () => {
  it.each<[string, Record<string, string | null>, RegExp | ""]>([
    ["a plain change", { "agents/a.ts": "2", "agents/b.ts": null }, ""],
    ["below a link", { "policies/p.yaml": "x" }, /lies at or below policies, which is a link/],
    ["in the place of a submodule", { "scripts/sub/x.ts": "x" }, /lies at or below scripts\/sub/],
    ["another case of a name that is there", { "agents/A.ts": "x" }, /looks like "agents\/a.ts"/],
    ["two that fold to one", { "agents/b.ts": "x", "agents/B.ts": "x" }, /looks like "agents\/B.ts"/],
    ["renamed to another case", { "agents/a.ts": null, "agents/A.ts": "x" }, ""],
    ["too many", Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`agents/a${n}.ts`, ""])), /201 files; at most 200/],
    ["too large", { "knowledge/a.md": "é".repeat(500_001) }, /1000002 bytes/],
    ["not text", { "knowledge/a.md": "\ud800" }, /not text in UTF-8/],
    ["a NUL", { "knowledge/a.md": "a\0" }, /not text in UTF-8/],
    ["a new case", { "cases/a/two.yaml": "case: 2" }, ""],
    ["the same case again", { "cases/a/one.yaml": "case: 1", "agents/a.ts": "3" }, ""],
  ])("%s", async (_, files, words) => {
    const message = await said(files);
    if (words === "") expect(message).toBe("");
    else expect(message).toMatch(words);
  });

  it("an accepted case is removed by a person, with a reason, separately from anything else; never by an agent", async () => {
    expect(await said({ "cases/a/one.yaml": null }, "agent:learner", "because")).toMatch(/only a person retires one/);
    expect(await said({ "cases/a/one.yaml": "case: 9" }, "agent:learner", "because")).toMatch(/only a person retires one/);
    expect(await said({ "cases/a/one.yaml": null, "agents/a.ts": "2" }, "Pat", "because")).toMatch(/in a proposal of its own/);
    expect(await said({ "cases/a/one.yaml": null }, "Pat", " ")).toMatch(/say with --reason/);
    expect(await said({ "cases/a/one.yaml": null }, "Pat", "the rule changed")).toBe("");
  });
});
