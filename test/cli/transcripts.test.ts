/**
 * Shell transcripts (test/cli/*.txt): each runs in a fresh workspace. `$ ` starts a command, what follows up to an empty line is what it prints on both
 * streams, empty lines left out; `[exit N]` closes a command that does not end with 0; `...` stands for any lines, at the end of a line for its rest; `>>> FILE` to `<<<` writes a file.
 * Run ids, commits, times and the folder are written as RUN, COMMIT, TIME and DIR. One process makes the commands of all, but for those
 * that need a process each.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { put, shell, warmUp, workspace } from "./command-line.ts";

interface Command {
  line: string;
  expected: string[];
  exit: number;
  number: number;
}

type Part = Command | { file: string; text: string };

function read(text: string): Part[] {
  const parts: Part[] = [];
  let open = false;
  let file: { file: string; text: string } | null = null;
  text.split("\n").forEach((line, index) => {
    const last = parts.at(-1);
    if (line === "<<<") file = null;
    else if (file !== null) file.text += `${line}\n`;
    else if (line.startsWith(">>> ")) parts.push((file = { file: line.slice(4), text: "" }));
    else if (line.startsWith("$ ")) {
      open = true;
      parts.push({ line: line.slice(2), expected: [], exit: 0, number: index + 1 });
    } else if (line === "") open = false;
    else if (open && last !== undefined && "line" in last) {
      const exit = /^\[exit (\d+)\]$/.exec(line)?.[1];
      if (exit !== undefined) last.exit = Number(exit);
      else last.expected.push(line);
    }
  });
  return parts;
}

function plain(text: string, dir: string): string {
  return text
    .replaceAll(dir, "DIR")
    .replace(/run_[0-9A-Z]{14,}/g, "RUN")
    .replace(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b/g, "TIME")
    .replace(/\b[0-9a-f]{64}\b/g, "HASH")
    .replace(/(?<=commit |in |@)[0-9a-f]{7,40}\b/g, "COMMIT");
}

function fits(expected: string[], actual: string[]): boolean {
  const [first, ...rest] = expected;
  if (first === undefined) return actual.length === 0;
  if (first === "...") return rest.length === 0 || actual.some((_, i) => fits(rest, actual.slice(i)));
  const [line] = actual;
  const same = first.endsWith("...") ? line?.startsWith(first.slice(0, -3)) === true : line === first;
  return same && fits(rest, actual.slice(1));
}

beforeAll(warmUp);
// Code of the workspace that changes is loaded by a new process only.
const ALONE = new Set(["plugins.txt"]);
const transcripts = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".txt"));

test.for(transcripts)("%s", async (name) => {
  const parts = read(readFileSync(join(import.meta.dirname, name), "utf8"));
  expect(parts.some((part) => "line" in part)).toBe(true);
  const dir = await workspace();
  for (const part of parts) {
    if ("file" in part) {
      put(dir, { [part.file]: part.text });
      continue;
    }
    const { code, stdout, stderr } = await shell(dir, part.line, ALONE.has(name));
    const actual = plain(stdout + stderr, dir)
      .split("\n")
      .filter((line) => line !== "");
    const wanted = part.expected;
    const place = `${name}:${part.number} $ ${part.line}`;
    if (!fits(wanted, actual)) expect(actual.join("\n"), place).toBe(wanted.join("\n"));
    expect(code, place).toBe(part.exit);
  }
});
