/**
 * The door to the yaml package: YAML written by people and models, read strictly and with places. References, custom tags,
 * duplicate keys and endless nesting are refused, so a small text can never become a large value; text that would keep the parser busy is
 * refused before parsing; characters that a reviewer would not see are refused in files that people review.
 */
import { createRequire } from "node:module";
import { z } from "zod";
import { type At, ClearedError, type Code, didYouMean } from "../kernel/errors.ts";
import { hiddenIn, visible } from "../kernel/text.ts";
import type { DiskCache } from "./disk-cache.ts";

// Loaded at first use: a process that finds everything in its cache never needs its 72 modules.
const load = createRequire(import.meta.url);
const yamlPackage = () => load("yaml") as typeof import("yaml");

export interface YamlSource {
  /** Name shown in messages. */
  file: string;
  code: Code;
  maxLength: number;
  /** Maximum number of line ends and YAML signs; a parser takes about 10 µs for each. */
  maxSigns?: number;
  /** Written by code: may contain unchanged text of banks and people, which writeYaml has made visible. */
  written?: true;
  /** Maps a place in the text (from 1) to one in the file, for text cut out of a larger file. */
  place?: (line: number, col: number) => { line: number; col: number };
  /** Cache of values that were read before. */
  cache?: DiskCache | undefined;
}

// Line ends, and signs that begin or end an item, a key, an anchor, an alias or a tag.
const SIGNS = /[\n[\]{},]|[:?-](?=[\s,[\]{}]|$)|[&*!](?=\S)/g;

export interface YamlText {
  value: unknown;
  /** Place of a key, or of the nearest one above it. */
  at(path: readonly PropertyKey[]): At;
}

// Deeper than any of our files; the parser itself would only stop when the stack is full.
const MAX_DEPTH = 24;
const MAX_SIGNS = 30_000;
// More would not help a person, and each is searched in the whole text.
const MAX_FINDINGS = 100;

/** @throws the source's code, at the place, for everything that is not plain YAML */
export function readYaml(text: string, source: YamlSource): YamlText {
  const known = source.cache?.get("yaml", text);
  if (known != null && text.length <= source.maxLength) {
    let parsed: YamlText | null = null;
    return { value: JSON.parse(known), at: (path) => (parsed ??= parseYaml(text, source)).at(path) };
  }
  const parsed = parseYaml(text, source);
  // JSON has neither of these numbers.
  if (!/\.(?:inf|nan)/i.test(text)) source.cache?.put(JSON.stringify(parsed.value), "yaml", text);
  return parsed;
}

function parseYaml(text: string, source: YamlSource): YamlText {
  const { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } = yamlPackage();
  const fail = (message: string, at?: At): never => {
    throw new ClearedError(source.code, `${source.file}${at?.line === undefined ? "" : `:${at.line}`}: ${message}`, {
      at: at ?? { file: source.file },
    });
  };
  if (text.length > source.maxLength) fail(`It is ${text.length} characters long; at most ${source.maxLength} are allowed.`);
  const place = (offset: number | undefined): At => {
    if (offset === undefined) return { file: source.file };
    const { line, col } = counter.linePos(Math.min(offset, text.length));
    return { file: source.file, ...(source.place?.(line, col) ?? { line, col }) };
  };
  const signs = text.match(SIGNS)?.length ?? 0;
  const most = source.maxSigns ?? MAX_SIGNS;
  if (signs > most) fail(`It has ${signs} lines, keys and items; at most ${most} are allowed. Split it, or leave out what is not needed.`);
  const counter = new LineCounter();
  const hidden = source.written === true ? undefined : hiddenIn(text).next().value;
  if (hidden !== undefined) {
    for (let start = 0; start <= hidden.index; start = text.indexOf("\n", start) + 1 || Infinity) counter.addNewLine(start);
    fail(hidden.message, place(hidden.index));
  }
  const document = (() => {
    try {
      // The package's own check of unique keys is quadratic.
      return parseDocument(text, { lineCounter: counter, uniqueKeys: false, prettyErrors: false, stringKeys: true });
    } catch {
      // The parser is recursive: endless nesting exhausts its stack, which is the only reason for it to throw.
      return fail("It is nested too deep to be read.");
    }
  })();
  let first: { message: string; offset: number } | null = null;
  const fault = (message: string, offset = 0): void => {
    if (first === null || offset < first.offset) first = { message, offset };
  };
  for (const { message, pos } of [...document.errors, ...document.warnings].slice(0, MAX_FINDINGS))
    fault(`Not valid YAML: ${message}`, pos[0]);
  visit(document, {
    Node(_, node, above) {
      if (isAlias(node) || node.anchor !== undefined)
        fault("Write the value out: references (&name, *name) are not supported.", node.range?.[0]);
      if (above.filter(isNode).length > MAX_DEPTH) fault(`It is nested deeper than ${MAX_DEPTH} levels.`, node.range?.[0]);
    },
    Map(_, map) {
      const keys = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : key;
        if (keys.has(name))
          fault(`Not valid YAML: the key "${String(name).slice(0, 60)}" appears here twice.`, isNode(key) ? key.range?.[0] : undefined);
        if (name === "__proto__" && source.written !== true)
          fault('The key "__proto__" is not supported: write another name.', isNode(key) ? key.range?.[0] : undefined);
        keys.add(name);
      }
    },
  });
  const worst = first as { message: string; offset: number } | null; // assigned in a visitor, which the compiler does not follow
  if (worst !== null) fail(worst.message, place(worst.offset));
  return {
    value: document.toJS() as unknown,
    at(path) {
      let node: unknown = document.contents;
      let offset = isNode(node) ? node.range?.[0] : 0;
      for (const [depth, key] of path.entries()) {
        if (isMap(node)) {
          const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key));
          if (pair === undefined) break;
          const shown = depth === path.length - 1 || !isNode(pair.value) ? pair.key : pair.value;
          offset = (isNode(shown) ? shown.range?.[0] : undefined) ?? offset;
          node = pair.value;
        } else if (isSeq(node)) {
          node = node.items[Number(key)];
          offset = (isNode(node) ? node.range?.[0] : undefined) ?? offset;
        } else break;
      }
      return place(offset);
    },
  };
}

/**
 * The value checked against a schema; an unknown key is reported with the nearest known one.
 * @throws the source's code at the first problem; `data.findings` has all of them, in the order of the file
 */
export function checkYaml<S extends z.ZodType>(yaml: YamlText, schema: S, source: YamlSource): z.output<S> {
  // Checked once or twice in a process: faster without the code that zod would generate for it (4 ms for config.yaml).
  const error = ({ code, input }: { code?: string; input?: unknown }) =>
    code === "invalid_type" && input === undefined ? "is missing" : undefined;
  const parsed = schema.safeParse(yaml.value ?? {}, { jitless: true, error });
  if (parsed.success) return parsed.data;
  const findings = flatten(parsed.error.issues.slice(0, MAX_FINDINGS))
    .slice(0, MAX_FINDINGS)
    .flatMap((issue) => {
      if (issue.code !== "unrecognized_keys") {
        const name = issue.path.join(".");
        return [{ at: yaml.at(issue.path), message: name === "" ? issue.message : `${name}: ${issue.message}` }];
      }
      const known = keysAt(schema, issue.path);
      return issue.keys.slice(0, MAX_FINDINGS).map((key) => ({
        at: yaml.at([...issue.path, key]),
        message:
          `Unknown key "${[...issue.path, key].join(".")}".${didYouMean(key, known)} ${known.length === 0 ? "" : `Known here: ${known.join(", ")}.`}`.trimEnd(),
      }));
    })
    .sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0) || (a.at.col ?? 0) - (b.at.col ?? 0));
  const first = findings[0] ?? { at: { file: source.file }, message: "It has the wrong shape." };
  const where = first.at.line === undefined ? source.file : `${source.file}:${first.at.line}`;
  throw new ClearedError(source.code, `${where}: ${first.message}`, {
    at: first.at,
    data: { findings: findings.slice(0, 20).map(({ at, message }) => ({ code: source.code, at, message })) },
  });
}

/** Text of a value in block style, for files written by code. */
export function writeYaml(value: unknown): string {
  const { Document, Scalar, visit } = yamlPackage();
  const document = new Document(value);
  // Only in double quotes YAML can escape invisible characters.
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === "string" && visible(node.value) !== node.value) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return visible(document.toString({ lineWidth: 0 }));
}

/** The text of a map with one more item (as flow YAML) at the end of the list under a key; all other bytes stay. */
export function withItem(text: string, key: string, item: string): string {
  const { isMap, isNode, isScalar, isSeq, parseDocument } = yamlPackage();
  const { contents } = parseDocument(text);
  const pair = isMap(contents) ? contents.items.find((one) => isScalar(one.key) && one.key.value === key) : undefined;
  const list = isSeq(pair?.value) ? pair.value : null;
  const put = (from: number, to: number, what: string) => text.slice(0, from) + what + text.slice(to);
  if (pair === undefined) return `${text.trimEnd()}\n${key}:\n  - ${item}\n`;
  const [start, end] = list?.range ?? [0, 0];
  if (list === null) {
    const colon = text.indexOf(":", isScalar(pair.key) ? pair.key.range?.[1] : 0) + 1;
    return put(colon, colon, `\n  - ${item}`);
  }
  if (list.items.length === 0) return put(text.slice(0, start).trimEnd().length, end, `\n  - ${item}`);
  const last = text.slice(0, end).trimEnd().length;
  // Behind the last item, whatever stands between it and the bracket: a comma, a remark, a line end.
  const final = list.items.at(-1);
  const behind = isNode(final) ? final.range?.[1] : undefined;
  if (list.flow === true && behind !== undefined) return put(behind, behind, `, ${item}`);
  const line = text.indexOf("\n", last);
  const [at, dash] = [line < 0 ? text.length : line, " ".repeat(start - text.lastIndexOf("\n", start) - 1)];
  return put(at, at, `\n${dash}- ${item}`);
}

/** A failed union reports nothing useful; the problems of its nearest option do. */
function flatten(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== "invalid_union" || issue.errors.length === 0) return [issue];
    const inner = [...issue.errors].sort((a, b) => deepest(b) - deepest(a))[0] ?? [];
    const stated = issue.errors.find((one) => one.some(({ code, path }) => code === "custom" && path.length === 0));
    if (stated !== undefined) return stated.map((one) => ({ ...one, path: [...issue.path, ...one.path] }) as z.core.$ZodIssue);
    return deepest(inner) === 0
      ? [issue]
      : flatten(inner.map((one) => ({ ...one, path: [...issue.path, ...one.path] }) as z.core.$ZodIssue));
  });
}

function deepest(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map((issue) => issue.path.length + (issue.code === "unrecognized_keys" ? 1 : 0)));
}

/** Keys that a schema knows at a path, through optionals, defaults, lists, records and unions. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const bare = unwrap(schema);
  const [key, ...rest] = path;
  if (bare instanceof z.ZodUnion) return bare.options.flatMap((option) => keysAt(option, path));
  if (key === undefined) return bare instanceof z.ZodObject ? Object.keys(bare.shape) : [];
  if (bare instanceof z.ZodArray) return keysAt(bare.element, rest);
  if (bare instanceof z.ZodRecord) return keysAt(bare.valueType, rest);
  const next = bare instanceof z.ZodObject ? (bare.shape as Record<string, z.core.$ZodType>)[String(key)] : undefined;
  return next === undefined ? [] : keysAt(next, rest);
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable
  ) {
    return unwrap(schema.def.innerType);
  }
  if (schema instanceof z.ZodLazy) return unwrap(schema.def.getter());
  return schema instanceof z.ZodPipe ? unwrap(schema.def.in) : schema;
}
