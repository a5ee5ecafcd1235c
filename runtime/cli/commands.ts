/** Every command: how it is called, what it does, and its file in commands/, loaded when it is asked for. Size: one table, a row a command. */
import type { Output } from "./output.ts";

/** What every command gets: where to speak, and which workspace it means. */
export interface Invocation {
  output: Output;
  /** --dir, unless the command runs in the folder it means. */
  dir: string | undefined;
  /** That one's folder. @throws WORKSPACE_MISSING, FOLDER_UNSAFE */
  workspace(): string;
}

/** What commander found of the options of a command. */
export type Options = Record<string, string | boolean | string[] | undefined>;
/** Answers the exit code. */
export type Command = (at: Invocation, args: (string | string[] | undefined)[], options: Options) => Promise<number>;

interface Spec {
  name: string;
  about: string;
  /** What may be written for its first argument, where that is one of a few words. */
  words?: readonly string[];
  /** many: given more than once, each counts. */
  options?: [flags: string, about: string, many?: "many"][];
  load(): Promise<{ run: Command }>;
}

// name with arguments, what it does, its options, its file
export const COMMANDS: readonly Spec[] = [
  {
    name: "init [dir]",
    about: "make a workspace",
    options: [
      ["--name <name>", "the business"],
      ["--person <name>", "who decides"],
      ["--hooks", "check commits before they are made; also in an existing workspace"],
    ],
    load: () => import("./commands/init.ts"),
  },
  {
    name: "demo <what> [dir]",
    words: ["erp"],
    about: "make a workspace with a business to try it on: demo erp",
    options: [["--person <name>", "who decides"]],
    load: () => import("./commands/demo.ts"),
  },
  {
    name: "add [processes...]",
    about: "add processes with everything they call; without a name: list them",
    load: () => import("./commands/add.ts"),
  },
  {
    name: "start",
    about: "serve the workspace: triggers, runs, status page",
    options: [
      ["--port <port>", "port of the status page; else PORT, else web.port of config.yaml"],
      ["--host <address>", "address to listen on, for tasks of other machines; 127.0.0.1 by default"],
      ["--card-url <url>", "address that the agent card tells"],
      ["--accept-trust", "confirm trust.yaml as it is, without asking (for scripts)"],
      ["--no-open", "do not open the page in a browser"],
    ],
    load: () => import("./commands/start.ts"),
  },
  {
    name: "trust",
    about: "show what trust.yaml lets run and who may decide; confirm it for this machine",
    options: [["--accept-trust", "confirm without asking (for scripts)"]],
    load: () => import("./commands/trust.ts"),
  },
  {
    name: "run <agent>",
    about: "run an agent",
    options: [
      ["--input <value>", "its input: JSON, or name=value once for each field", "many"],
      ["--dry-run", "simulate every write and effect"],
      ["--key <key>", "start only one run for this key"],
      ["--read-only", "it may read and compute, nothing else"],
      ["--policy <file>", "further rules for this run: JSON, or prose"],
      ["--tools <url>", "a tool endpoint for this run, if trust.yaml allows its address"],
      ["--no-wait", "do not wait until it ends"],
    ],
    load: () => import("./commands/run.ts"),
  },
  {
    name: "exec <file>",
    about: "run any script file, dry unless --live",
    options: [
      ["--input <value>", "its input: JSON, or name=value once for each field", "many"],
      ["--live", "write and act"],
      ["--unchecked", "skip lint and types"],
    ],
    load: async () => ({ run: (await import("./commands/run.ts")).exec }),
  },
  {
    name: "call [primitive] [params]",
    about: "try a primitive, dry",
    options: [["--batch <file>", "one {name, params} per line"]],
    load: async () => ({ run: (await import("./commands/run.ts")).call }),
  },
  { name: "agents [verb] [agent]", words: ["list", "show"], about: "list agents, show one", load: () => import("./commands/agents.ts") },
  {
    name: "runs [verb] [run...]",
    words: ["list", "show", "resume", "cancel", "replay", "fork", "migrate"],
    about: "list, show, resume, cancel, replay, fork or migrate runs",
    options: [
      ["--at <commit>", "resume: with the script of this commit; fork: after this many steps"],
      ["--head", "fork: with the script of HEAD"],
      ["--to <commit>", "migrate: to this commit, else HEAD"],
      ["--all", "migrate: every run that waits on older code and can move"],
      ["--dry-run", "migrate: only prove that it could"],
      ["--reason <text>", "for cancel, fork and migrate"],
      ["--agent <name>", "only its runs"],
      ["--scheduled", "only those that open later"],
      ["--limit <n>", "how many"],
    ],
    load: () => import("./commands/runs.ts"),
  },
  {
    name: "bisect <run|entry>",
    about: "find the commit that changed the result of a run, or of the run that made an entry",
    load: () => import("./commands/bisect.ts"),
  },
  {
    name: "pause [agent]",
    about: "stop an agent, or all: nothing starts, acts outside or commits",
    options: [["--reason <text>", "why; shown to whoever looks"]],
    load: async () => ({ run: (await import("./commands/pause.ts")).pause }),
  },
  {
    name: "resume [agent]",
    about: "resume a paused agent, or all of them",
    load: async () => ({ run: (await import("./commands/pause.ts")).resume }),
  },
  {
    name: "queue [verb] [card]",
    words: ["list", "show"],
    about: "what waits for a person; show N: a card with everything it says",
    options: [
      ["--all", "the last ones, decided or not"],
      ["--limit <n>", "with --all: how many, else 200"],
    ],
    load: () => import("./commands/queue.ts"),
  },
  {
    name: "approve <cards...>",
    about: "approve cards",
    options: [
      ["--set <path=value...>", "change a parameter of its calls first, such as amount=50.00"],
      ["--account <account>", "book to this account instead"],
      ["--reason <text>", "kept with the decision"],
      ["--by <person>", "whose key this shell holds"],
      ["--result <json>", "what the call in doubt returned"],
      ["--despite <reason>", "approve a proposal although it is unproven"],
    ],
    load: async () => ({ run: (await import("./commands/decide.ts")).approve }),
  },
  {
    name: "reject <cards...>",
    about: "reject cards",
    options: [
      ["--reason <text>", "kept with the decision"],
      ["--by <person>", "whose key this shell holds"],
    ],
    load: async () => ({ run: (await import("./commands/decide.ts")).reject }),
  },
  {
    name: "correct <entry>",
    about: "move a confirmed entry to another account, by an entry that leaves the bank's leg as it is",
    options: [
      ["--account <account>", "where it belongs: number or name"],
      ["--reason <text>", "kept with the correction"],
      ["--by <person>", "whose key this shell holds"],
    ],
    load: async () => ({ run: (await import("./commands/decide.ts")).correct }),
  },
  {
    name: "eval <what> <dir>",
    words: ["asks"],
    about: "how well the models here write: the requests of a folder, each in a workspace of its own, judged by what comes of them",
    options: [
      ["--times <n>", "how often each is asked (3)"],
      ["--scripted", "the script of each case answers instead of a model: tries the cases themselves"],
    ],
    load: () => import("./commands/eval.ts"),
  },
  {
    name: "rule <entry>",
    about:
      "make a rule of an entry that was moved to another account: a card, which also moves what is alike; a model where words alone do not tell",
    load: async () => ({ run: (await import("./commands/ask.ts")).rule }),
  },
  {
    name: "undo <what>",
    words: ["import"],
    about: "undo a proposal (its number), a run (its id), the last import (the word import) or an undo (its commit)",
    options: [
      ["--yes", "without asking"],
      ["--dry-run", "only show what would change back"],
      ["--reason <text>", "kept with the commit"],
    ],
    load: () => import("./commands/undo.ts"),
  },
  {
    name: "revive <names...>",
    about: "book rows again that were deleted from the books: ids of entries, or the file name of a statement",
    options: [["--leave-out", "leave them out for good instead"]],
    load: async () => ({ run: (await import("./commands/undo.ts")).revive }),
  },
  {
    name: "answer <card> [values...]",
    about: "fill in a form: name=value ...",
    options: [
      ["--reason <text>", "kept with the answer"],
      ["--by <person>", "whose key this shell holds"],
    ],
    load: async () => ({ run: (await import("./commands/decide.ts")).answer }),
  },
  {
    name: "pair",
    about: "a code that lets a browser decide as the person whose key this shell holds",
    options: [["--revoke", "end all their pairings instead"]],
    load: () => import("./commands/pair.ts"),
  },
  {
    name: "import <files...>",
    about: "import statements and print the receipts",
    options: [
      ["--dry-run", "book nothing"],
      ["--again", "repeat an import on purpose"],
    ],
    load: () => import("./commands/import.ts"),
  },
  {
    name: "ask [words...]",
    about: "ask for a change in your own words, or a question about the books: a model writes, the checks judge, you decide",
    options: [
      ["--continue [request]", "answer its question, or go on with one that was cut off; the last one if none is named"],
      ["--show-prompt", "print what the model is told about this workspace"],
    ],
    load: () => import("./commands/ask.ts"),
  },
  {
    name: "asks [verb] [request]",
    words: ["list", "show"],
    about: "list requests, or show one with everything that happened in it",
    options: [["--limit <n>", "how many"]],
    load: async () => ({ run: (await import("./commands/ask.ts")).asks }),
  },
  {
    name: "propose [paths...]",
    about: "turn your edits into a proposal and take them out of the working tree",
    options: [
      ["-m, --message <title>", "what changes, in one line"],
      ["--reason <text>", "why"],
      ["--from <dir>", "propose the files of a folder laid out like a workspace instead"],
      ["--branch <name>", "propose what a branch changes instead"],
      ["--despite <reason>", "why recorded runs may get worse results"],
    ],
    load: () => import("./commands/propose.ts"),
  },
  {
    name: "proposals [verb] [name]",
    words: ["list", "show", "diff", "withdraw", "check", "sync"],
    about: "list, show, diff, withdraw, check or sync proposals",
    options: [
      ["--details", "for show: checks, recorded runs, how the files differ"],
      ["--all", "for show: every recorded run that would change, with every entry"],
      ["--reason <text>", "for withdraw"],
    ],
    load: () => import("./commands/proposals.ts"),
  },
  {
    name: "policy [verb] [names...]",
    words: ["test", "show"],
    about: "test policies with their cases, show their rules",
    load: () => import("./commands/policy.ts"),
  },
  {
    name: "cases [verb] [names...]",
    words: ["list", "show", "run", "add"],
    about: "list, show or run the cases that must keep holding; add a recorded run as one",
    options: [["--why <text>", "add: what is right about it"]],
    load: () => import("./commands/cases.ts"),
  },
  {
    name: "check [paths...]",
    about: "check your edits before they count, and show what they would do",
    options: [
      ["--all", "every agent, changed or not"],
      ["--staged", "what the next commit would have, instead of the files as they lie here"],
    ],
    load: () => import("./commands/check.ts"),
  },
  {
    name: "backtest <agent>",
    about: "what your edits, or a commit, would have done to an agent's recorded runs",
    options: [
      ["--at <rev>", "the agents and scripts of this commit, instead of the files as they lie here"],
      ["--days <n>", "only runs of the last n days"],
      ["--runs <ids>", "only these, with commas in between"],
    ],
    load: () => import("./commands/backtest.ts"),
  },
  {
    name: "reindex",
    about: "list the runs that refs/cleared/runs/ has and this workspace does not know: after a fetch from another clone, or a lost store",
    load: async () => ({ run: (await import("./commands/runs.ts")).reindex }),
  },
  {
    name: "verify",
    about: "check the books",
    options: [["--independent", "compare with hledger and Ledger"]],
    load: () => import("./commands/verify.ts"),
  },
  {
    name: "tokens <verb> [name]",
    words: ["add", "list", "remove"],
    about: "who may give tasks to which agents over A2A and MCP; a token is shown once",
    options: [["--agents <names>", "add: the agents it may give tasks to, with commas between"]],
    load: () => import("./commands/tokens.ts"),
  },
  {
    name: "mcp",
    about: "serve agents, runs and cards as MCP tools on standard input and output, for a chat client",
    load: () => import("./commands/mcp.ts"),
  },
  {
    name: "secrets <verb> [name]",
    words: ["set", "list", "remove"],
    about: "set, list or remove what trust.yaml names as secret:NAME",
    load: () => import("./commands/secrets.ts"),
  },
  {
    name: "models [verb]",
    words: ["list", "test"],
    about: "which models there are and what may be sent to them; test: ask each",
    load: () => import("./commands/models.ts"),
  },
  {
    name: "costs",
    about: "what was spent on models",
    options: [["--by <what>", "run, agent (the default), model, proposal or day"]],
    load: async () => ({ run: (await import("./commands/models.ts")).costs }),
  },
  { name: "doctor", about: "show the keys in force, the plugins, and what is missing", load: () => import("./commands/doctor.ts") },
  {
    name: "process <verb> [name]",
    words: ["new"],
    about: "new NAME: write the files of a new process",
    options: [["--from <file>", "its definition: JSON with states, risk_level, state_instructions"]],
    load: () => import("./commands/process.ts"),
  },
  {
    name: "tools [verb] [names...]",
    words: ["list", "test", "show"],
    about: "list, test or show the tools of scripts/tools/",
    load: () => import("./commands/tools.ts"),
  },
  { name: "types", about: "write .cleared/types for editors", load: () => import("./commands/types.ts") },
  {
    name: "completions <shell>",
    words: ["bash", "zsh", "fish"],
    about: "print what completes commands and agents in your shell: bash, zsh or fish",
    load: () => import("./commands/completions.ts"),
  },
];
