/**
 * Every command: its syntax, its summary, its options, and its file in commands/, which is loaded on demand.
 */
import { extname } from "node:path";
import type { Command, CommandSpec } from "./invocation.ts";

type Text = string | [about: string, many: "many"];
type More = Partial<Pick<CommandSpec, "words" | "lasting">> & { in?: string } & { [flags: `-${string}`]: Text };

/** `in`: the file of another command that exports it by name; else `run` of its own file. */
function command(name: string, about: string, { in: file, words, lasting, ...options }: More = {}): Omit<CommandSpec, "group"> {
  const [word = name] = name.split(" ");
  return {
    ...{ name, word, about, lasting: lasting === true, words: words ?? [] },
    options: Object.entries(options).map(([flags, text]) => [flags, ...[text].flat()] as CommandSpec["options"][number]),
    async load() {
      const found = (await import(`./commands/${file ?? word}${extname(import.meta.url)}`)) as Record<string, Command>;
      return found[file === undefined ? "run" : word] as Command;
    },
  };
}

const BY = { "--by <person>": "whose key this shell holds" };
const INPUT: More = { "--input <value>": ["the input: JSON, or one name=value for each field", "many"] };

const GROUPS: Record<string, readonly Omit<CommandSpec, "group">[]> = {
  "Workspace:": [
    command("init [dir]", "make a workspace", {
      "--name <name>": "name of the business",
      "--person <name>": "name of the person who decides",
      "--hooks": "check commits before they are made; also in an existing workspace",
    }),
    command("demo <what> [dir]", "make a workspace with a demo business: demo erp", {
      in: "init",
      words: ["erp"],
      "--person <name>": "name of the person who decides",
    }),
    command("add [processes...]", "add processes with everything they call; without a name: list them"),
    command("start", "serve the workspace: triggers, runs, status page", {
      lasting: true,
      "--port <port>": "port of the status page; default: PORT, then web.port of config.yaml",
      "--host <address>": "address to listen on, for tasks from other machines; default: 127.0.0.1",
      "--card-url <url>": "public address in the agent card",
      "--accept-trust": "confirm trust.yaml as it is, without asking (for scripts)",
      "--no-open": "do not open the page in a browser",
    }),
    command("trust", "show what trust.yaml allows to run and who may decide, and confirm it for this machine", {
      "--accept-trust": "confirm without asking (for scripts)",
      "--new-key <name>": "make a key for another person, who runs this as their own user; print the lines for trust.yaml",
    }),
    command("doctor", "show the settings in force, the plugins and tool servers, and what is missing"),
  ],
  "Runs:": [
    command("run <agent>", "run an agent", {
      ...INPUT,
      "--dry-run": "simulate every write and effect",
      "--key <key>": "start at most one run for this key; other input under the same key is refused",
      "--read-only": "allow only reads and computations",
      "--policy <file>": "additional rules for this run: JSON, or prose",
      "--tools <url>": "a tool endpoint for this run; trust.yaml must allow its address",
      "--again <file...>": "of an agent that watches a folder: process these files of it, also if it has done so before",
      "--no-wait": "return without waiting for the end",
    }),
    command("agents [verb] [agent]", "list agents, or show one", { words: ["list", "show"] }),
    command("runs [verb] [run...]", "list, show, resume, cancel, replay, fork or migrate runs", {
      words: ["list", "show", "resume", "cancel", "replay", "fork", "migrate"],
      "--at <commit>": "resume: with the script of this commit; fork: after this many steps",
      "--head": "fork: with the script of HEAD",
      "--to <commit>": "migrate: to this commit; default: HEAD",
      "--all": "migrate: every waiting run on older code that can move",
      "--dry-run": "migrate: only show which runs could move",
      "--reason <text>": "for cancel, fork and migrate",
      "--agent <name>": "only runs of this agent",
      "--scheduled": "only runs that start later",
      "--limit <n>": "how many",
    }),
    command("pause [agent]", "pause an agent, or all: nothing starts, acts outside or commits", {
      in: "pause",
      "--reason <text>": "why; shown wherever the pause is",
    }),
    command("resume [agent]", "resume a paused agent, or all of them", { in: "pause" }),
    command("exec <file>", "run any script file, dry unless --live", {
      in: "run",
      ...INPUT,
      "--live": "write and act",
      "--unchecked": "skip lint and types",
    }),
    command("call [primitive] [params]", "try a primitive, dry", { in: "run", "--batch <file>": "one {name, params} per line" }),
  ],
  "Decisions:": [
    command("queue [verb] [card]", "list what waits for a person; show N: everything on a card", {
      words: ["list", "show"],
      "--all": "also decided cards",
      "--limit <n>": "with --all: only the last n; default: 200",
    }),
    command("approve <cards...>", "approve cards", {
      in: "decide",
      "--set <path=value...>": "change a parameter of its calls first, such as amount=50.00",
      "--account <account>": "book to this account instead",
      "--reason <text>": "kept with the decision",
      ...BY,
      "--result <json>": "what the call in doubt returned",
      "--despite <reason>": "approve a proposal although it is unproven",
    }),
    command("reject <cards...>", "reject cards", { in: "decide", "--reason <text>": "kept with the decision", ...BY }),
    command("answer <card> [values...]", "fill in a form: name=value ...", {
      in: "decide",
      "--reason <text>": "kept with the answer",
      ...BY,
    }),
    command("pair", "print a code with which a browser may decide as the person whose key this shell holds", {
      "--revoke": "revoke all their paired browsers instead",
    }),
  ],
  "Books:": [
    command("import [files...]", "import statements and print the receipts; without files, those in import/", {
      lasting: true,
      "--dry-run": "book nothing",
      "--again": "repeat an import on purpose",
    }),
    command("correct <entry>", "move a confirmed entry to another account; its bank leg stays as it is", {
      in: "decide",
      "--account <account>": "where it belongs: number or name",
      "--reason <text>": "kept with the correction",
      ...BY,
    }),
    command("rule <entry>", "propose a rule from an entry that was moved to another account; similar entries move too", { in: "ask" }),
    command("undo <what>", "undo a proposal (its number), a run (its id), the last import (the word import) or an undo (its commit)", {
      words: ["import"],
      "--yes": "do not ask",
      "--dry-run": "only show what would change back",
      "--reason <text>": "kept with the commit",
    }),
    command("revive <names...>", "book deleted rows again: ids of entries, or the file name of a statement", {
      in: "undo",
      "--leave-out": "leave them out for good instead",
    }),
    command("verify", "check the books", { "--independent": "compare with hledger and Ledger" }),
  ],
  "Changes:": [
    command("check [paths...]", "check your edits before they count, and show what they would do", {
      "--all": "check every agent, changed or not",
      "--staged": "check what the next commit would contain, instead of the working tree",
    }),
    command("propose [paths...]", "turn your edits into a proposal and take them out of the working tree", {
      in: "proposals",
      lasting: true,
      "-m, --message <title>": "what changes, in one line",
      "--reason <text>": "why",
      "--from <dir>": "propose the files of a folder laid out like a workspace instead",
      "--branch <name>": "propose what a branch changes instead",
      "--despite <reason>": "why recorded runs may get worse results",
    }),
    command("proposals [verb] [name]", "list, show, diff, withdraw, check or sync proposals", {
      words: ["list", "show", "diff", "withdraw", "check", "sync"],
      "--details": "for show: checks, recorded runs, how the files differ",
      "--all": "for show: every recorded run that would change, with every entry",
      "--reason <text>": "for withdraw",
    }),
    command("backtest <agent>", "show what your edits, or a commit, would have changed in an agent's recorded runs", {
      lasting: true,
      "--at <rev>": "use the agents and scripts of this commit, instead of the working tree",
      "--days <n>": "only runs of the last n days",
      "--runs <ids>": "only these, separated by commas",
      "--ask": "ask models where no recording answers; needs --budget",
      "--budget <usd>": "the most that may cost, in US dollars",
    }),
    command("bisect <run|entry>", "find the commit that changed the result of a run, or of the run that made an entry", {
      in: "backtest",
      lasting: true,
    }),
    command("cases [verb] [names...]", "list, show or run the cases that must keep holding; add a recorded run as one", {
      words: ["list", "show", "run", "add"],
      lasting: true,
      "--why <text>": "add: what is right about it",
    }),
    command("policy [verb] [names...]", "test policies with their cases, or show their rules", { words: ["test", "show"] }),
    command("tools [verb] [names...]", "list, test or show the tools of scripts/tools/", { words: ["list", "test", "show"] }),
    command("process <verb> [name]", "new NAME: write the files of a new process", {
      words: ["new"],
      "--from <file>": "its definition: JSON with states, risk_level, state_instructions",
    }),
  ],
  "Models:": [
    command("ask [words...]", "ask for a change or about the books: a model writes, the checks judge, you decide", {
      "--continue [request]": "answer its question, or continue one that was cut off; default: the last one",
      "--show-prompt": "print what the model is told about this workspace",
    }),
    command("asks [verb] [request]", "list requests, or show one with everything that happened in it", {
      in: "ask",
      words: ["list", "show"],
      "--limit <n>": "how many",
    }),
    command("models [verb]", "list models and what may be sent to them; test: ask each", { words: ["list", "test"] }),
    command("costs", "show what was spent on models", { in: "models", "--by <what>": "run, agent (the default), model, proposal or day" }),
    command("eval <what> <dir>", "measure how well the models write: each request of a folder in its own workspace, judged by its result", {
      words: ["asks"],
      lasting: true,
      "--times <n>": "how often each is asked (3)",
      "--scripted": "answer with the script of each case instead of a model, to test the cases themselves",
      "--arms <names>":
        "what feedback the model gets: none, findings, or backtest (findings and backtests, the default); several with commas",
    }),
  ],
  "Access and setup:": [
    command("secrets <verb> [name]", "set, list or remove what trust.yaml names as secret:NAME", { words: ["set", "list", "remove"] }),
    command("tokens <verb> [name]", "manage who may give tasks to which agents over A2A and MCP; a token is shown once", {
      words: ["add", "list", "remove"],
      "--agents <names>": "add: the agents it may give tasks to, separated by commas",
    }),
    command("mcp", "serve agents, runs and cards as MCP tools on standard input and output, for a chat client", { lasting: true }),
    command("reindex", "list again the runs kept in refs/cleared/runs/: after a fetch from another clone, or a lost store", { in: "runs" }),
    command("types", "write .cleared/types for editors"),
    command("completions <shell>", "print a completion script for your shell: bash, zsh or fish", { words: ["bash", "zsh", "fish"] }),
  ],
};

export const COMMANDS: readonly CommandSpec[] = Object.entries(GROUPS).flatMap(([group, commands]) =>
  commands.map((one) => ({ ...one, group })),
);
