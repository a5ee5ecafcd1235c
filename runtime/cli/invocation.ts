/** What a command is: how it is called, what it gets, what it answers. */
import type { Output } from "./output.ts";

/** What every command gets: where to speak, and which workspace it means. */
export interface Invocation {
  output: Output;
  /** --dir, unless the command runs in the folder it means. */
  dir: string | undefined;
  /** That one's folder. @throws WORKSPACE_MISSING, FOLDER_UNSAFE */
  workspace(): string;
  /** Every command there is. */
  commands: readonly CommandSpec[];
}

/** What commander found of the options of a command. */
export type Options = Record<string, string | boolean | string[] | undefined>;
/** Answers the exit code. */
export type Command = (at: Invocation, args: (string | string[] | undefined)[], options: Options) => Promise<number>;

/** A command as main.ts declares it. */
export interface CommandSpec {
  name: string;
  about: string;
  /** What may be written for its first argument, where that is one of a few words. */
  words?: readonly string[];
  /** many: given more than once, each counts. */
  options?: [flags: string, about: string, many?: "many"][];
  lasting?: true; // it stays, or reads thousands of values alike: its schemas are compiled to code
  load(): Promise<{ run: Command }>;
}
