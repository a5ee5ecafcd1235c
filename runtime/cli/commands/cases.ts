/** `cleared cases`: list, show, run and add cases, results that must not change. A case is removed by proposing the deletion of its file alone. */
import { existsSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ClearedError, toWire } from "../../kernel/errors.ts";
import { type Case, parseCase } from "../../change/evidence/case-file.ts";
import { caseName } from "../../change/evidence/cases.ts";
import { CASES } from "../../workspace/layout.ts";
import { makePlainFolder, readIfThere } from "../../workspace/own-folders.ts";
import { pickCases } from "../../app/evidence-api.ts";
import { withAnyApi } from "../../app/connect.ts";
import type { Command, Invocation, Options } from "../invocation.ts";
import type { Output } from "../output.ts";
import { atWork } from "../progress.ts";

export const run: Command = async (at, [verb = "list", ...names], options) => VERBS[verb as keyof typeof VERBS](at, names, options);

const VERBS = {
  async list({ output, dir }, names) {
    const found = readCases(dir, names);
    output.result(
      found.map(({ one, ...rest }) => ({ ...rest, ...(one === null ? {} : { agent: one.agent, why: one.why, from: one.from }) })),
    );
    const rows = found.map(({ name, size, one, error }) => [
      output.bold(name),
      one?.from.day ?? "",
      kB(size),
      one?.why ?? output.red(error ?? ""),
    ]);
    output.rows(rows);
    output.line(
      found.length === 0
        ? "No cases yet. `cleared cases add RUN` makes one; a correction and an accepted proposal also make some."
        : "To retire one: `git rm` its file and `cleared propose --reason WHY`, apart from other changes.",
    );
    return found.some(({ one }) => one === null) ? 2 : 0;
  },

  async show({ output, dir }, names) {
    if (names.length === 0) throw new ClearedError("USAGE", "Name a case: `cleared cases show NAME`; `cleared cases` lists them.");
    const found = readCases(dir, names).map(({ path, one }) => one ?? parseCase(read(dir, path), path));
    output.result(found);
    for (const one of found) output.lines(inWords(one, output));
    return 0;
  },

  async run({ output, dir }, names) {
    const tried = await atWork(withAnyApi, dir, (api) => api.tryCases({ names }));
    output.result(tried);
    for (const path of tried.odd) output.note(`${path} is a link or too large: it is not tried, and cannot be proposed.`);
    const paint = { failed: output.red, open: output.yellow, fixed: output.green, passed: output.green, untried: output.yellow };
    for (const { name, status, why } of tried.results) {
      output.line(`${paint[status](status)}  ${name}`);
      for (const line of why) output.line(`    ${line}`);
    }
    const open = tried.open.length === 0 ? "" : `, ${tried.open.length} open: HEAD does not keep them either`;
    const untried = tried.untried.length === 0 ? "" : `, ${tried.untried.length} could not be tried`;
    output.line(`${tried.passed}/${tried.total}${open}${untried}`);
    return tried.failed.length > 0 ? 1 : 0;
  },

  async add({ output, dir }, [id, ...more], options) {
    if (id === undefined || more.length > 0) throw new ClearedError("USAGE", "Name one run: `cleared cases add run_…`.");
    const why = String(options["why"] ?? "This is right as it is.");
    const { file, text } = await withAnyApi(dir, (api) => api.caseOfRun({ run: id, why }));
    if (existsSync(join(dir, file)) && read(dir, file) !== text)
      throw new ClearedError("CASE_IMPOSSIBLE", `${file} already exists, with other content. Look at it, or remove it and try again.`);
    makePlainFolder(dir, dirname(file));
    if (!existsSync(join(dir, file))) writeFileSync(join(dir, file), text, { flag: "wx" });
    output.result({ file });
    output.line(`${file}: look at it, then \`cleared propose\` or commit it.`);
    return 0;
  },
} satisfies Record<string, (at: Invocation, names: string[], options: Options) => Promise<number>>;

interface Found {
  name: string;
  path: string;
  size: number;
  one: Case | null;
  error: string | null;
}

/** The cases in the work tree. @throws CASE_UNKNOWN */
function readCases(dir: string, names: readonly string[]): Found[] {
  const folder = join(dir, CASES);
  const there = existsSync(folder)
    ? readdirSync(folder, { recursive: true }).map((name) => `${CASES}${String(name).replaceAll("\\", "/")}`)
    : [];
  const paths = there.filter((path) => path.endsWith(".yaml") && lstatSync(join(dir, path)).isFile()).sort();
  return pickCases(paths, names).map((path) => {
    const told = { name: caseName(path), path, size: lstatSync(join(dir, path)).size };
    try {
      return { ...told, one: parseCase(read(dir, path), path), error: null };
    } catch (error) {
      return { ...told, one: null, error: toWire(error).message };
    }
  });
}

const read = (dir: string, path: string): string => readIfThere(join(dir, path)) ?? "";

const kB = (size: number): string => `${(size / 1024).toFixed(1)} kB`;

function inWords({ agent, why, from, keeps: { books, asks, makes, ends, answers } }: Case, output: Output): string[] {
  const by = [
    from.correction === undefined ? "" : `, corrected by ${from.correction}`,
    from.proposal === undefined ? "" : `, frozen by ${from.proposal}`,
  ];
  return [
    `${output.bold(`${agent}/${from.run}`)}  ${why}`,
    `  recorded on ${from.day}, on commit ${from.commit.slice(0, 7)}${by.join("")}; \`cleared runs show ${from.run}\` has the recording`,
    output.bold("  must hold"),
    ...books.map(({ about, legs }) => `    ${about}: ${legs.length === 0 ? "not booked" : legs.join(", ")}`),
    ...asks.map(({ tool, params }) => `    a person is asked for ${tool} ${JSON.stringify(params)}`),
    ...makes.map(
      ({ tool, params, times }) =>
        `    ${tool} ${JSON.stringify(params)} ${times === 0 ? "is not made" : times === 1 ? "is made" : `is made ${times} times`}`,
    ),
    ...(ends === undefined ? [] : [`    the run ends as ${ends}`]),
    ...Object.entries(answers ?? {}).map(([field, value]) => `    answers ${field} ${JSON.stringify(value)}`),
  ];
}
