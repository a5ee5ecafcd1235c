/** Commands: how one is called, what it receives, what it returns. */
import type { Output } from "./output.ts";

/** What every command receives: where to print, and its workspace. */
export interface Invocation {
  output: Output;
  /** --dir as given. */
  given: string | undefined;
  /** The workspace's folder, from --dir or the current folder; looked up on first use. @throws WORKSPACE_MISSING, FOLDER_UNSAFE */
  readonly dir: string;
  commands: readonly CommandSpec[];
}

/** The options of a command as parsed by commander. */
export type Options = Record<string, string | boolean | string[] | undefined>;
/** `words`: the arguments; required ones are present. Returns the exit code if it is not 0. */
export type Command = (at: Invocation, words: string[], options: Options) => Promise<number | undefined>;

export interface CommandSpec {
  /** Its heading in `cleared --help`. */
  group: string;
  /** With its arguments in commander's syntax; `word` is the first word. */
  name: string;
  word: string;
  about: string;
  /** The allowed values of its first argument, if it is one of a few words. */
  words: readonly string[];
  /** many: may be repeated. */
  options: [flags: string, about: string, many?: "many"][];
  lasting: boolean; // it keeps running, or reads thousands of similar values: its schemas are compiled to code
  load(): Promise<Command>;
}
