/** What a command is: how it is called, what it gets, what it answers. */
import type { Output } from "./output.ts";

/** What every command gets: where to speak, and which workspace it means. */
export interface Invocation {
  output: Output;
  /** --dir as it was given. */
  given: string | undefined;
  /** The folder of the workspace that is meant, by --dir or by the folder the command runs in; found when it is asked for. @throws WORKSPACE_MISSING, FOLDER_UNSAFE */
  readonly dir: string;
  /** Every command there is. */
  commands: readonly CommandSpec[];
}

/** What commander found of the options of a command. */
export type Options = Record<string, string | boolean | string[] | undefined>;
/** `words`: what was written behind its name; those that must be there are. Answers the exit code where it is another than 0. */
export type Command = (at: Invocation, words: string[], options: Options) => Promise<number | undefined>;

/** A command as commands.ts declares it. */
export interface CommandSpec {
  /** Its heading in `cleared --help`. */
  group: string;
  /** With its arguments, as commander writes them; `word` is the first. */
  name: string;
  word: string;
  about: string;
  /** What may be written for its first argument, where that is one of a few words. */
  words: readonly string[];
  /** many: given more than once, each counts. */
  options: [flags: string, about: string, many?: "many"][];
  lasting: boolean; // it stays, or reads thousands of values alike: its schemas are compiled to code
  load(): Promise<Command>;
}
