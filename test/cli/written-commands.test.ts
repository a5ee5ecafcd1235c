/** Each command that a document, the help or a message names can be typed as it stands: the command line takes its words, and the files that it names are there. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { COMMANDS } from "../../runtime/cli/commands.ts";
import { cleared, ROOT, warmUp } from "./command-line.ts";

const PLACES = [
  "*.md",
  "docs/*.md",
  "examples/**/*.md",
  "bin/*.{js,ts}",
  "runtime/**/*.ts",
  "primitives/**/*.ts",
  "agents/*.ts",
  "scripts/*.ts",
];
// What needs no workspace does something at once. It is carried out by other tests.
const ACTS = new Set(["init", "demo", "node", "uninstall"]);

/** Where each stands, and its words as a shell reads them. One in the middle of a sentence is mentioned: it may be without what it needs. */
function written(): { where: string; words: string[]; mentioned: boolean }[] {
  const found: ReturnType<typeof written> = [];
  // What index-lock.ts writes into a lock's file is no command.
  const exclude = ["node_modules", "runtime/workspace/git/index-lock.ts"];
  for (const path of PLACES.flatMap((place) => globSync(place, { cwd: ROOT, exclude }))) {
    const text = readFileSync(join(ROOT, path), "utf8");
    for (const [, fenced, inline] of text.matchAll(
      /^(?:\$ )?\.\/cleared ([^\n]+)$|(?:\\?`|<code>)(?:\.\/)?cleared ([^`\\\n<]+)(?:\\?`|<)/gm,
    )) {
      for (const command of (fenced ?? inline ?? "").replace(/\s+(#.*|&)$/, "").split(/; (?:\.\/cleared )?/)) {
        if (command.includes("|") || command.startsWith("${")) continue;
        // What is filled in is a name or a number; what goes on in another way is left out.
        const filled = command.replaceAll(/\$\{(?:[^{}?]|\{[^{}]*\})*\}/g, "1").replaceAll(/ ?\$\{.*/g, "");
        const words = [...filled.matchAll(/"([^"]*)"|'([^']*)'|[^\s"']+(?:"[^"]*")?/g)].map(
          ([word, double, single]) => double ?? single ?? word,
        );
        if (!ACTS.has(words[0] ?? "")) found.push({ where: `${path}: ${command}`, words, mentioned: inline !== undefined });
      }
    }
  }
  return found;
}

// Their messages are for people alone, who have the command line.
const FOR_PEOPLE = [
  "runtime/{app,cli,web}/**/*.ts",
  "runtime/change/proposals/*.ts",
  "runtime/workspace/books/{undo-books,decisions,verify}.ts",
];

beforeAll(warmUp);

test("every command in documents and messages is accepted by the command line", async () => {
  const refused: string[] = [];
  const all = written();
  for (const { where, words, mentioned } of all) {
    const { stdout, stderr } = await cleared("/", ...words, "--json", "--dir", "/there/is/none");
    const said = stdout + stderr;
    if (/See `cleared (?:\S+ )?--help`/.test(said) && !(mentioned && /argument missing|missing required argument/.test(said)))
      refused.push(`${where}: ${said.trim()}`);
  }
  expect(all.length).toBeGreaterThan(100);
  expect(refused).toEqual([]);
});

test("no message for people advises something that only a script can call", () => {
  const advice = new RegExp(`[^/*\\n]*\\b(?:with|or|use|call|then) (?:${primitives.map(({ name }) => name).join("|")})\\b[^\\n]*`, "gi");
  const paths = FOR_PEOPLE.flatMap((place) => globSync(place, { cwd: ROOT }));
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.flatMap((path) => readFileSync(join(ROOT, path), "utf8").match(advice) ?? [])).toEqual([]);
});

test("each command has its file, which says what it does", async () => {
  for (const { word, load } of COMMANDS) expect(typeof (await load()), word).toBe("function");
});

test("every agent file named in them comes with Cleared", () => {
  const missing = (word: string) => /^(agents|scripts)\/[a-z_]+\.ts$/.test(word) && !existsSync(join(ROOT, word));
  expect(written().flatMap(({ where, words }) => (words.some(missing) ? [where] : []))).toEqual([]);
});
