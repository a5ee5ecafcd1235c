/** `cleared completions bash|zsh|fish`: prints a completion script for commands, their words and options, and names of agents. */
import { ClearedError } from "../../kernel/errors.ts";
import type { Command, CommandSpec } from "../invocation.ts";

const SHELLS = { bash, zsh, fish };
/** If the next word is an agent: the files in agents/ of the current folder, with names that the shell cannot interpret. */
const AGENTS = "ls agents 2>/dev/null | sed -nE 's/^([A-Za-z0-9_-]+)\\.ts$/\\1/p'";

interface Words {
  name: string;
  about: string;
  /** What may follow the command. */
  words: readonly string[];
  /** The next word, or the one after a word such as `show`, may be an agent. */
  agents: boolean;
  options: { flag: string; about: string }[];
}

export const run: Command = async (at, [shell = ""]) => {
  const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell as keyof typeof SHELLS] : undefined;
  if (write === undefined)
    throw new ClearedError("USAGE", `\`cleared completions ${shell}\` is not known: ${Object.keys(SHELLS).join(", ")}.`);
  const text = write(at.commands.map(wordsOf));
  at.output.result({ shell, text });
  at.output.text(text);
};

function wordsOf({ name, word, about, words, options }: CommandSpec): Words {
  const common: CommandSpec["options"] = [
    ["--json", "print one JSON document"],
    ["--dir <dir>", "the workspace, if not this folder"],
    ["--help", "what it does and its options"],
  ];
  return {
    ...{ name: word, about, words, agents: /[<[]agent[\]>]/.test(name) },
    options: [...options, ...common].map(([flags, said]) => ({ flag: /--[a-z-]+/.exec(flags)?.[0] ?? flags, about: said })),
  };
}

/** `run) words="..." ;;` for each command, in the syntax common to bash and zsh. */
function cases(commands: readonly Words[], separator: string): string {
  return commands
    .map(({ name, words, agents, options }) => {
      const all = [...words, ...options.map(({ flag }) => flag), ...(agents ? [`$(${AGENTS})`] : [])];
      return `    ${name}) words="${all.join(" ")}" ;;`;
    })
    .join(separator);
}

function bash(commands: readonly Words[]): string {
  return `# For ~/.bashrc: eval "$(cleared completions bash)"
_cleared() {
  local words
  case "$COMP_CWORD:\${COMP_WORDS[1]}" in
    1:*) words="${commands.map(({ name }) => name).join(" ")}" ;;
${cases(commands, "\n").replace(/^ {4}([a-z]+)\)/gm, "    *:$1)")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _cleared cleared`;
}

function zsh(commands: readonly Words[]): string {
  return `# For ~/.zshrc, after compinit: eval "$(cleared completions zsh)"
_cleared() {
  local words_
  if ((CURRENT == 2)); then
    words_="${commands.map(({ name }) => name).join(" ")}"
  else
    case "$words[2]" in
${cases(commands, "\n").replaceAll("words=", "words_=")}
    esac
  fi
  compadd -- \${=words_}
  _files
}
compdef _cleared cleared`;
}

function fish(commands: readonly Words[]): string {
  const said = (text: string): string => `'${text.replace(/['\\]/g, "\\$&")}'`;
  return [
    "# For ~/.config/fish/config.fish: cleared completions fish | source",
    ...commands.flatMap(({ name, about, words, agents, options }) => {
      const within = `complete -c cleared -n '__fish_seen_subcommand_from ${name}'`;
      return [
        `complete -c cleared -n __fish_use_subcommand -f -a ${name} -d ${said(about)}`,
        ...(words.length === 0 ? [] : [`${within} -f -a ${said(words.join(" "))}`]),
        ...(agents ? [`${within} -f -a "(${AGENTS.replace(/\$/g, "\\$&")})"`] : []),
        ...options.map(({ flag, about: one }) => `${within} -l ${flag.slice(2)} -d ${said(one)}`),
      ];
    }),
  ].join("\n");
}
