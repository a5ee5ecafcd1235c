/**
 * The long-lived, disposable process in which untrusted source is parsed, linted, rewritten and stripped. Reads frames from fd 3 until it
 * closes. After any panic of a native parser the whole process is discarded (Node's stripping stays broken after one).
 */
import { stripTypeScriptTypes } from "node:module";
import type { At } from "../kernel/errors.ts";
import type { Compiled, Finding } from "../kernel/ports.ts";
import type { CompileOptions, CompileResult } from "./compile.ts";
import { FRAME, encodeFrame, readFrame, writeFrame } from "./frames.js";
import { flowOf } from "../scripts/flow.ts";
import { guardsOf } from "../scripts/guards.ts";
import { lintLanguage, scanText } from "../scripts/language.ts";
import { namesOf } from "../scripts/names.ts";
import { lockDown } from "./lockdown.js";
import { plannedOf } from "../scripts/planned.ts";
import { CODE_PREFIX, PARSE_PREFIX, SUFFIX, rewrite } from "../scripts/rewrite.ts";
import { joinChoices } from "../scripts/same-choices.ts";
import { surveyOf } from "../scripts/survey.ts";
import { type Node, createPlaces, parseScript } from "../scripts/syntax.ts";

const FD = 3;
// Called before the right to read files is dropped: Node loads its stripper at the first call.
stripTypeScriptTypes("let warm: number = 1");
const own: ReturnType<typeof lockDown> = lockDown();

writeFrame(FD, encodeFrame(FRAME.READY, {}));
for (;;) {
  const frame = readFrame(FD);
  if (frame === null) own.exit();
  const { source, options } = frame.head as { source: string; options: CompileOptions };
  let result: CompileResult;
  try {
    result = compile(source, options);
  } catch (error) {
    // Stack overflow on a deep tree, or a panic of the stripper.
    const deep = error instanceof RangeError;
    result = {
      compiled: null,
      findings: [
        {
          code: deep ? "LIMIT_DEPTH" : "SANDBOX_CRASHED",
          at: { file: options.file },
          message: deep ? "The script is nested too deep. Split it into functions." : "The parser failed on the script.",
        },
      ],
    };
  }
  writeFrame(FD, encodeFrame(FRAME.COMPILED, result));
}

function compile(source: string, { file, blob, lint, primitives, survey }: CompileOptions): CompileResult {
  const wrapped = PARSE_PREFIX + source + SUFFIX;
  const place = createPlaces(wrapped, PARSE_PREFIX.length, file);
  const refused = (findings: Finding[]): CompileResult => ({ compiled: null, findings });
  const syntax = (message: string, at: At): CompileResult => refused([{ code: "SCRIPT_SYNTAX", at, message }]);

  const tree = parseScript(wrapped, "ts");
  if (tree.errors.length > 0) {
    return refused(
      tree.errors.slice(0, 20).map(({ message, start }) => ({ code: "SCRIPT_SYNTAX", at: place(start ?? PARSE_PREFIX.length), message })),
    );
  }
  const body = bodyOf(tree.body, wrapped.length);
  if (body === null) return syntax("The script ends inside a bracket that it did not open.", { file, line: 1, col: 1 });

  const names = namesOf(body);
  const found = lintLanguage(body, names, { primitives, place });
  if (lint) {
    const findings = [...scanText(wrapped, tree.comments, PARSE_PREFIX.length, place), ...found.findings];
    findings.sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0) || (a.at.col ?? 0) - (b.at.col ?? 0));
    if (findings.length > 0) return refused(findings.slice(0, 50));
  }
  let rewritten: Pick<Compiled, "code" | "shifts">;
  try {
    rewritten = rewrite(wrapped, body, tree.comments);
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX" || code === "ERR_INVALID_TYPESCRIPT_SYNTAX")
      return syntax(message.split("\n")[0] ?? message, { file });
    throw error;
  }
  // The code to run is parsed again as JavaScript: nothing in the script may end the wrapper early.
  const check = parseScript(rewritten.code, "js");
  if (check.errors.length > 0) return syntax(check.errors[0]?.message ?? "not valid", { file });
  if (bodyOf(check.body, rewritten.code.length) === null || !rewritten.code.startsWith(CODE_PREFIX)) {
    return syntax("The script ends inside a bracket that it did not open.", { file });
  }
  const { main, functions, given, fields } = flowOf(body, found.sites, names);
  const calls = found.calls.map((call, i) => ({ ...call, given: given[i] ?? {}, fields: fields[i] ?? {} }));
  const guards = guardsOf(body, found.sites, names, place);
  const planned = plannedOf(body, found.sites, names, place, wrapped);
  const compiled = { file, blob, ...rewritten, scripts: found.scripts, calls, flow: { main, functions }, guards, planned };
  if (survey !== true) return { compiled, findings: [] };
  const line = (offset: number): number => place(offset).line ?? 1;
  const joined = joinChoices(body);
  return {
    compiled,
    findings: [],
    survey: surveyOf(joined, namesOf(joined, `${file}:`), { text: wrapped, sites: found.sites, line, primitives }),
  };
}

/** Statements of the script if the program is exactly `"use strict"; __run(function(input){ ... })`. */
function bodyOf(program: readonly Node[], length: number): Node[] | null {
  const [directive, statement] = program;
  if (program.length !== 2 || directive?.["directive"] !== "use strict") return null;
  if (statement?.type !== "ExpressionStatement" || statement.end !== length) return null;
  const call = statement["expression"] as Node;
  const [body, ...more] = call.type === "CallExpression" ? (call["arguments"] as Node[]) : [];
  if (body?.type !== "FunctionExpression" || more.length > 0 || call.end !== length || body.end !== length - 1) return null;
  return (body["body"] as Node)["body"] as Node[];
}
