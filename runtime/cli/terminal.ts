/** Input typed by a person: an answer to a question, or a hidden secret; or what a pipe provides. */
import { createInterface } from "node:readline/promises";
import { ClearedError } from "../kernel/errors.ts";

/** Null without a terminal, and after Ctrl-C or the end of the input. */
export async function answerTo(question: string): Promise<string | null> {
  if (process.stdin.isTTY !== true) return null;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  lines.once("SIGINT", () => closed.abort());
  try {
    return (await lines.question(question, { signal: closed.signal })).trim();
  } catch {
    return null;
  } finally {
    lines.close();
  }
}

/** Without a terminal nobody has confirmed. */
export const saysYes = async (question: string): Promise<boolean> => /^y(?:es)?$/i.test((await answerTo(`${question} [y/N] `)) ?? "");

/** All of standard input. */
export async function piped(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += String(chunk);
  return text.replace(/\r?\n$/, "");
}

/** One line from the terminal without echo. @throws USAGE after Ctrl-C */
export async function hidden(prompt: string): Promise<string> {
  const { stdin } = process;
  process.stderr.write(prompt);
  stdin.setRawMode(true);
  try {
    let text = "";
    for await (const chunk of stdin.setEncoding("utf8")) {
      for (const char of String(chunk)) {
        if (char === "\r" || char === "\n") return text;
        if (char === "\u0003" || char === "\u0004") throw new ClearedError("USAGE", "Nothing was stored.");
        text = char === "\u007f" || char === "\b" ? text.slice(0, -1) : text + char;
      }
    }
    return text;
  } finally {
    stdin.setRawMode(false);
    process.stderr.write("\n");
  }
}
