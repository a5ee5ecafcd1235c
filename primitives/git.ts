/** Commits of the run and the log of the repository. All other git operations belong to people. */
import { z } from "zod";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { text } from "./_shapes.ts";

export const git_commit = definePrimitive({
  name: "git_commit",
  effect: "write",
  summary: "Commit the run's writes so far; later writes are committed at its end.",
  params: z.object({
    message: text
      .refine((message) => message.trim() !== "", 'needs a subject, such as "import: 12 transactions"')
      .meta({ ts: "string" })
      .describe("verb: subject"),
  }),
  returns: z.object({ commit: z.string().nullable().describe("null when there was nothing to write") }),
  errors: ["JOURNAL_UNBALANCED", "JOURNAL_ASSERTION", "WORKSPACE_CONFLICT"],
  example: `git_commit("import: 12 transactions")`,
  run: async (p, ctx) => ({ commit: await ctx.commit(p.message) }),
});

// For a path outside, git's error message shows paths of the machine.
const insideWorkspace = text.refine(
  (path) => !/^[/\\]|^[A-Za-z]:|\0/.test(path) && !path.split(/[/\\]/).includes(".."),
  "write a path inside the workspace, such as journal/",
);

export const git_log = definePrimitive({
  name: "git_log",
  effect: "read",
  summary: "Commits of the configured branch, newest first.",
  params: z.object({
    limit: z.int().min(1).max(1000).default(20),
    path: insideWorkspace.optional().describe("only commits that touch this file or folder"),
  }),
  returns: z.array(
    z.object({ commit: z.string(), date: z.string(), author: z.string(), subject: z.string(), trailers: z.record(z.string(), z.string()) }),
  ),
  example: "git_log({ limit: 5 })",
  run: (p, ctx) => ctx.ports.gitLog({ limit: p.limit, ...(p.path === undefined ? {} : { path: p.path }) }),
});
