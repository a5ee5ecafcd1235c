/**
 * Every command: how it is called, what it does, its options, and its file in commands/, which is loaded when the command is asked for.
 */
import { extname } from "node:path";
import type { Command, CommandSpec } from "./invocation.ts";

type Text = string | [about: string, many: "many"];
type More = Partial<Pick<CommandSpec, "words" | "lasting">> & { in?: string } & { [flags: `-${string}`]: Text };

/** `in`: the file of another command, which exports it by its name; else `run` of its own. */
function command(name: string, about: string, { in: file, words, lasting, ...options }: More = {}): CommandSpec {
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
const INPUT: More = { "--input <value>": ["its input: JSON, or name=value once for each field", "many"] };

export const COMMANDS: readonly CommandSpec[] = [
  command("init [dir]", "make a workspace", {
    "--name <name>": "the business",
    "--person <name>": "who decides",
    "--hooks": "check commits before they are made; also in an existing workspace",
  }),
  command("demo <what> [dir]", "make a workspace with a business to try it on: demo erp", {
    in: "init",
    words: ["erp"],
    "--person <name>": "who decides",
  }),
  command("add [processes...]", "add processes with everything they call; without a name: list them"),
  command("start", "serve the workspace: triggers, runs, status page", {
    lasting: true,
    "--port <port>": "port of the status page; else PORT, else web.port of config.yaml",
    "--host <address>": "address to listen on, for tasks of other machines; 127.0.0.1 by default",
    "--card-url <url>": "address that the agent card tells",
    "--accept-trust": "confirm trust.yaml as it is, without asking (for scripts)",
    "--no-open": "do not open the page in a browser",
  }),
  command("trust", "show what trust.yaml lets run and who may decide; confirm it for this machine", {
    "--accept-trust": "confirm without asking (for scripts)",
  }),
  command("run <agent>", "run an agent", {
    ...INPUT,
    "--dry-run": "simulate every write and effect",
    "--key <key>": "start only one run for this key; other input under it is refused",
    "--read-only": "it may read and compute, nothing else",
    "--policy <file>": "further rules for this run: JSON, or prose",
    "--tools <url>": "a tool endpoint for this run, if trust.yaml allows its address",
    "--no-wait": "do not wait until it ends",
  }),
  command("exec <file>", "run any script file, dry unless --live", {
    in: "run",
    ...INPUT,
    "--live": "write and act",
    "--unchecked": "skip lint and types",
  }),
  command("call [primitive] [params]", "try a primitive, dry", { in: "run", "--batch <file>": "one {name, params} per line" }),
  command("agents [verb] [agent]", "list agents, show one", { words: ["list", "show"] }),
  command("runs [verb] [run...]", "list, show, resume, cancel, replay, fork or migrate runs", {
    words: ["list", "show", "resume", "cancel", "replay", "fork", "migrate"],
    "--at <commit>": "resume: with the script of this commit; fork: after this many steps",
    "--head": "fork: with the script of HEAD",
    "--to <commit>": "migrate: to this commit, else HEAD",
    "--all": "migrate: every run that waits on older code and can move",
    "--dry-run": "migrate: only prove that it could",
    "--reason <text>": "for cancel, fork and migrate",
    "--agent <name>": "only its runs",
    "--scheduled": "only those that open later",
    "--limit <n>": "how many",
  }),
  command("bisect <run|entry>", "find the commit that changed the result of a run, or of the run that made an entry", {
    in: "backtest",
    lasting: true,
  }),
  command("pause [agent]", "stop an agent, or all: nothing starts, acts outside or commits", {
    in: "pause",
    "--reason <text>": "why; shown to whoever looks",
  }),
  command("resume [agent]", "resume a paused agent, or all of them", { in: "pause" }),
  command("queue [verb] [card]", "what waits for a person; show N: a card with everything it says", {
    words: ["list", "show"],
    "--all": "the last ones, decided or not",
    "--limit <n>": "with --all: how many, else 200",
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
  command("correct <entry>", "move a confirmed entry to another account, by an entry that leaves the bank's leg as it is", {
    in: "decide",
    "--account <account>": "where it belongs: number or name",
    "--reason <text>": "kept with the correction",
    ...BY,
  }),
  command(
    "eval <what> <dir>",
    "how well the models here write: the requests of a folder, each in a workspace of its own, judged by what comes of them",
    {
      words: ["asks"],
      lasting: true,
      "--times <n>": "how often each is asked (3)",
      "--scripted": "the script of each case answers instead of a model: tries the cases themselves",
      "--arms <names>":
        "what comes back to the writer: none, findings, backtest (findings and backtests, as always), or several with commas",
    },
  ),
  command(
    "rule <entry>",
    "make a rule of an entry that was moved to another account: a card, which also moves what is alike; a model where words alone do not tell",
    { in: "ask" },
  ),
  command("undo <what>", "undo a proposal (its number), a run (its id), the last import (the word import) or an undo (its commit)", {
    words: ["import"],
    "--yes": "without asking",
    "--dry-run": "only show what would change back",
    "--reason <text>": "kept with the commit",
  }),
  command("revive <names...>", "book rows again that were deleted from the books: ids of entries, or the file name of a statement", {
    in: "undo",
    "--leave-out": "leave them out for good instead",
  }),
  command("answer <card> [values...]", "fill in a form: name=value ...", {
    in: "decide",
    "--reason <text>": "kept with the answer",
    ...BY,
  }),
  command("pair", "a code that lets a browser decide as the person whose key this shell holds", {
    "--revoke": "end all their pairings instead",
  }),
  command("import <files...>", "import statements and print the receipts", {
    lasting: true,
    "--dry-run": "book nothing",
    "--again": "repeat an import on purpose",
  }),
  command(
    "ask [words...]",
    "ask for a change in your own words, or a question about the books: a model writes, the checks judge, you decide",
    {
      "--continue [request]": "answer its question, or go on with one that was cut off; the last one if none is named",
      "--show-prompt": "print what the model is told about this workspace",
    },
  ),
  command("asks [verb] [request]", "list requests, or show one with everything that happened in it", {
    in: "ask",
    words: ["list", "show"],
    "--limit <n>": "how many",
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
  command("policy [verb] [names...]", "test policies with their cases, show their rules", { words: ["test", "show"] }),
  command("cases [verb] [names...]", "list, show or run the cases that must keep holding; add a recorded run as one", {
    words: ["list", "show", "run", "add"],
    lasting: true,
    "--why <text>": "add: what is right about it",
  }),
  command("check [paths...]", "check your edits before they count, and show what they would do", {
    "--all": "every agent, changed or not",
    "--staged": "what the next commit would have, instead of the files as they lie here",
  }),
  command("backtest <agent>", "what your edits, or a commit, would have done to an agent's recorded runs", {
    lasting: true,
    "--at <rev>": "the agents and scripts of this commit, instead of the files as they lie here",
    "--days <n>": "only runs of the last n days",
    "--runs <ids>": "only these, with commas in between",
    "--ask": "ask models what no recording answers; needs --budget",
    "--budget <usd>": "the most that may cost, in US dollars",
  }),
  command(
    "reindex",
    "list the runs that refs/cleared/runs/ has and this workspace does not know: after a fetch from another clone, or a lost store",
    { in: "runs" },
  ),
  command("verify", "check the books", { "--independent": "compare with hledger and Ledger" }),
  command("tokens <verb> [name]", "who may give tasks to which agents over A2A and MCP; a token is shown once", {
    words: ["add", "list", "remove"],
    "--agents <names>": "add: the agents it may give tasks to, with commas between",
  }),
  command("mcp", "serve agents, runs and cards as MCP tools on standard input and output, for a chat client", { lasting: true }),
  command("secrets <verb> [name]", "set, list or remove what trust.yaml names as secret:NAME", { words: ["set", "list", "remove"] }),
  command("models [verb]", "which models there are and what may be sent to them; test: ask each", { words: ["list", "test"] }),
  command("costs", "what was spent on models", { in: "models", "--by <what>": "run, agent (the default), model, proposal or day" }),
  command("doctor", "show the keys in force, the plugins, and what is missing"),
  command("process <verb> [name]", "new NAME: write the files of a new process", {
    words: ["new"],
    "--from <file>": "its definition: JSON with states, risk_level, state_instructions",
  }),
  command("tools [verb] [names...]", "list, test or show the tools of scripts/tools/", { words: ["list", "test", "show"] }),
  command("types", "write .cleared/types for editors"),
  command("completions <shell>", "print what completes commands and agents in your shell: bash, zsh or fish", {
    words: ["bash", "zsh", "fish"],
  }),
];
