/**
 * The command `cleared`. Each command is a file in commands/, loaded on demand, so that starting is cheap.
 */
import { Command, CommanderError, Option } from "commander";
import { ClearedError } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import { findWorkspace } from "../app/find.ts";
import { COMMANDS } from "./commands.ts";
import type { CommandSpec, Invocation, Options } from "./invocation.ts";
import { createOutput, reportError } from "./output.ts";

const EXITS = `Exit codes: 0 done; 1 the script is wrong; 2 the input, a file or the command line is wrong; 3 refused by a rule or a person;
4 something outside failed; 5 script and history disagree; 69 no Node for this machine; 70 a bug in Cleared.`;

async function main(argv: string[]): Promise<number> {
  process.umask(process.umask(0o077) | 0o002); // files written here must not be writable for other users, whatever the shell's umask is
  const program = new Command("cleared")
    .description("Business processes as scripts: git-backed, sandboxed, approved by people.")
    .exitOverride()
    .showSuggestionAfterError();
  program
    .version(VERSION)
    .option("--json", "print one JSON document")
    .option("--dir <dir>", "the workspace, if not this folder")
    .addHelpText("after", `\n${EXITS}`);
  program.configureOutput({ writeErr: () => undefined });
  let exit = 0;
  const json = argv.includes("--json");
  const words = seedSpelling(argv);
  // If the command can be told at once, only that one is described: all of them take 5 ms.
  const meant = COMMANDS.filter((spec) => spec.word === words[0]);
  for (const spec of meant.length === 1 ? meant : COMMANDS) {
    const verbs = meant.length === 1 ? spec.words.join("|") : "verb";
    const command = program.command(spec.name.replace("verb", verbs)).description(spec.about).helpGroup(spec.group);
    command.option("--json", "print one JSON document").option("--dir <dir>", "the workspace, if not this folder");
    for (const [flags, about, many] of spec.options) {
      const option = new Option(flags, about);
      command.addOption(many === undefined ? option : option.argParser((one: string, all: string[] = []) => [...all, one]));
    }
    command.action(async (...all: unknown[]) => {
      const options = all.at(-2) as Options;
      const dir = (options["dir"] ?? program.opts<Options>()["dir"]) as string | undefined;
      const at: Invocation = {
        ...{ output: createOutput(json), given: dir, commands: COMMANDS },
        get dir() {
          return findWorkspace(dir);
        },
      };
      try {
        assertVerb(spec, all[0]);
        // Before any schema is made: compiling each to code costs a short command 7 % of its CPU.
        if (!spec.lasting) (await import("zod")).config({ jitless: true });
        const given = all
          .slice(0, -2)
          .flat()
          .filter((word) => word !== undefined) as string[];
        exit = (await (await spec.load())(at, given, options)) ?? 0;
      } catch (error) {
        exit = reportError(at.output, error, dir ?? process.cwd());
      }
      await (await import("./alerts.ts")).tellAlerts(at);
    });
  }
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (error.code === "commander.help") {
      process.stdout.write(program.helpInformation());
      return 2;
    }
    const said = error.message.replace(/^error: /, "").replace(/\.$/, "");
    const help = meant.length === 1 ? `cleared ${words[0]} --help` : "cleared --help";
    return reportError(createOutput(json), new ClearedError("USAGE", `${said}. See \`${help}\`.`), process.cwd());
  }
  return exit;
}

/** `[verb]` of a command is one of its words. @throws USAGE */
function assertVerb({ name, word, words }: CommandSpec, given: unknown): void {
  if (given === undefined || !name.includes(" [verb]") || words.includes(String(given))) return;
  const known = new Intl.ListFormat("en-GB", { type: "disjunction" }).format(words);
  throw new ClearedError("USAGE", `\`cleared ${word} ${String(given)}\` is not known: ${known}.`);
}

/** `cleared agent run NAME` and `cleared server` are the seed's words for `run NAME` and `start`. */
function seedSpelling(argv: string[]): string[] {
  if (argv[0] === "server") return ["start", ...argv.slice(1)];
  if (argv[0] === "agent") return argv[1] === "run" ? ["run", ...argv.slice(2)] : ["agents", ...argv.slice(1)];
  return argv;
}

// A reader of the first lines only (`| head`) closes the pipe: that is no error, and the command completes.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await main(process.argv.slice(2));
