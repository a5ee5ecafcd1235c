/**
 * From a description in words to the function that computes it: first by phrases of triggers.ts, then by words that a declaration and
 * the description share. No model, no state: the same words give the same answer. Defects of the original's patterns: spec/worker.md 10.4.
 */
import { z } from "zod";
import { definePrimitive, type Primitive } from "../../runtime/kernel/primitive.ts";
import { checked, shown } from "../_shapes.ts";
import { computePrimitives } from "./index.ts";
import { count } from "./shapes.ts";
import { TRIGGERS } from "./triggers.ts";

/** Words between the two sides of `..`. */
const GAP = 5;
/** 64 KiB: a task with its attachments; matching is linear in its length. */
export const LONGEST_TEXT = 65_536;

interface Phrase {
  key: string;
  words: string[];
  said: string;
  not: boolean;
}

interface Hit {
  phrase: Phrase;
  from: number;
  to: number;
}

/** Whole words, lower-case, without a plural s; "90+" is "90 plus". */
function wordsOf(text: string): string[] {
  const found =
    text
      .toLowerCase()
      .replace(/(\d)\+/g, "$1 plus ")
      .match(/[\p{L}\p{N}']+|[*#%]|\.\./gu) ?? [];
  return found.map((word) => singular(word.replace(/'s?$/, "")));
}
const singular = (word: string): string => (word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word);

const PHRASES: readonly Phrase[] = Object.entries(TRIGGERS).flatMap(([key, list]) =>
  list.split(", ").map((said) => ({ key, words: wordsOf(said), said: said.replace("!", ""), not: said.startsWith("!") })),
);
const isOpen = (phrase: Phrase): boolean => phrase.words[1] === "*" || phrase.words[0] === "#";
const OPEN = PHRASES.filter(isOpen);
const BY_FIRST = Map.groupBy(
  PHRASES.filter((one) => !isOpen(one)),
  (one) => one.words[0] ?? "",
);

/** The word after a phrase that begins at `at`; -1 if it does not begin there. */
function endOf(words: readonly string[], at: number, phrase: readonly string[]): number {
  let here = at;
  for (let i = 0; i < phrase.length; i++) {
    const wanted = phrase[i] ?? "";
    if (wanted === "..") {
      const rest = phrase.slice(i + 1);
      for (let skip = 0; skip <= GAP; skip++) {
        const end = endOf(words, here + skip, rest);
        if (end >= 0) return end;
      }
      return -1;
    }
    const word = words[here++];
    if (word === undefined) return -1;
    if (phrase[i + 1] === "*") {
      if (!word.startsWith(wanted)) return -1;
      i++;
    } else if (wanted === "#" ? !/^\d+$/.test(word) : word !== wanted) return -1;
  }
  return here;
}

/** Phrases found in a text, without those that overlap an excluding phrase: "service level" in "service level agreement". */
function hitsIn(words: readonly string[]): Hit[] {
  const hits: Hit[] = [];
  for (let from = 0; from < words.length; from++) {
    for (const list of [BY_FIRST.get(words[from] ?? ""), OPEN]) {
      for (const phrase of list ?? []) {
        const to = endOf(words, from, phrase.words);
        if (to >= 0) hits.push({ phrase, from, to });
      }
    }
  }
  const barred = hits.filter((one) => one.phrase.not);
  const meet = (one: Hit, other: Hit): boolean => other.from < one.to && one.from < other.to;
  return hits.filter((one) => !one.phrase.not && !barred.some((other) => other.phrase.key === one.phrase.key && meet(one, other)));
}

/** A function to be found: the key of its phrases (null: only words find it), and the texts of its declaration. */
export interface Findable {
  name: string;
  summary: string;
  key: string | null;
  /** Names and meanings of its parameters. */
  about: string;
}

const COMMON = new Set(
  wordsOf(
    "a an the of and or for to in on at by with from is are be it its this that what how much many we our i me my compute calculate work out please need want get find give show amount total value number per one each which when only not as",
  ).map(singular),
);
/** Six letters: depreciate and depreciation, recognise and recognize count as one word. */
const stemsOf = (text: string): Map<string, string> =>
  new Map(
    wordsOf(text.replaceAll("_", " "))
      .filter((word) => word.length > 1 && !COMMON.has(word))
      .map((word) => [word.slice(0, 6), word]),
  );

interface Indexed extends Findable {
  /** Weight of each word: 3 in the name, 2 in the summary, 1 in the parameters. */
  weights: Map<string, number>;
}

/** Functions prepared for `rank`. */
export function indexed(functions: readonly Findable[]): { functions: Indexed[]; spread: Map<string, number> } {
  const spread = new Map<string, number>();
  const all = functions.map((one) => {
    const weights = new Map<string, number>();
    for (const [weight, text] of [
      [1, one.about],
      [2, one.summary],
      [3, one.name],
    ] as const)
      for (const word of stemsOf(text).keys()) weights.set(word, weight);
    for (const word of weights.keys()) spread.set(word, (spread.get(word) ?? 0) + 1);
    return { ...one, weights };
  });
  return { functions: all, spread };
}

/** The functions that fit, best first, then by name. Phrases count by their words, a shared word less the more functions have it. */
export function rank(description: string, { functions, spread }: ReturnType<typeof indexed>, limit: number) {
  const words = wordsOf(description.slice(0, LONGEST_TEXT));
  const hits = hitsIn(words);
  const stems = stemsOf(description.slice(0, LONGEST_TEXT));
  const found = functions.flatMap((one) => {
    const phrases = hits.filter((hit) => hit.phrase.key === one.key);
    const longest = phrases.reduce((most, hit) => Math.max(most, hit.phrase.words.filter((word) => /\w/.test(word)).length), 0);
    const shared = [...one.weights].filter(([word]) => stems.has(word));
    const overlap = shared.reduce((sum, [word, weight]) => sum + weight / (spread.get(word) ?? 1), 0);
    const phrasesSaid = [...new Set(phrases.map((hit) => hit.phrase.said.replaceAll(" ..", " ...")))];
    const score = Math.round(1000 * ((longest === 0 ? 0 : 2 + longest + (phrasesSaid.length - 1) / 4) + overlap)) / 1000;
    if (longest === 0 && overlap < LEAST) return [];
    const why =
      longest > 0
        ? `says ${phrasesSaid.map((phrase) => `"${phrase}"`).join(", ")}`
        : `shares ${shared.map(([stem]) => `"${stems.get(stem)}"`).join(", ")}`;
    return [{ name: one.name, summary: one.summary, why, score }];
  });
  return found.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1)).slice(0, limit);
}

/** Below this a function shares only words that many functions have. */
const LEAST = 0.5;

let ready: ReturnType<typeof indexed> | undefined;

/** All compute primitives; indexed at the first call, because most processes never search. */
const builtIn = (): ReturnType<typeof indexed> => (ready ??= indexed(computePrimitives.map(findable)));

function findable({ name, summary, params }: Primitive): Findable {
  const key = name.slice("compute_".length);
  const about = Object.entries<z.ZodType>(params.shape).map(([one, schema]) => `${one} ${schema.description ?? ""}`);
  return { name, summary, key: key in TRIGGERS ? key : null, about: about.join(" ") };
}

/** A text of the task, up to 64 KiB. */
export const taskText = checked<string>((value) => typeof value === "string" && value.length <= LONGEST_TEXT, {
  says: (value) =>
    typeof value === "string" ? `is ${value.length} characters long; at most ${LONGEST_TEXT} are read` : `${shown(value)} is not text`,
  ts: "string",
});

export const compute_find = definePrimitive({
  name: "compute_find",
  effect: "pure",
  summary: "The compute functions that fit a description in words, best first; an empty list when none does.",
  params: z.object({
    description: taskText.describe("what is to be computed, in English"),
    limit: count(1, 50).default(3).describe("at most this many"),
  }),
  returns: z.array(
    z.object({
      name: z.string().describe("what a script calls"),
      summary: z.string(),
      why: z.string().describe("the phrases or words that led here"),
      score: z.number().describe("3 and more: a phrase was said; below: only words are shared"),
    }),
  ),
  errors: ["COMPUTE_RANGE"],
  example: `compute_find("net present value of these cash flows")`,
  run: ({ description, limit }) => rank(description, builtIn(), limit),
});

/** compute_find over more than the built-in functions: with the tools of a commit. */
export function findAmong(tools: readonly Primitive[]): Primitive {
  let all: ReturnType<typeof indexed> | undefined;
  const run: typeof compute_find.run = ({ description, limit }) =>
    rank(description, (all ??= indexed([...computePrimitives, ...tools].map(findable))), limit);
  return { ...compute_find, run } as unknown as Primitive;
}
