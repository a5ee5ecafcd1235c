/**
 * policies/*.yaml: reading a pack, refusing an invalid one at its line, and the verdict of a run. Packs are read from the run's commit, so
 * that an edit never affects a waiting run; a document given with the run is evaluated beside them, and the stricter verdict wins.
 */
import { Kept } from "../../kernel/kept.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import { canonicalJson } from "../../kernel/canonical.ts";
import { type At, ClearedError, didYouMean } from "../../kernel/errors.ts";
import { type Condition, parseCondition } from "../../rules/policy/condition.ts";
import { dayOrMoment, isDecimal } from "../../rules/policy/values.ts";
import { KINDS, type Kind } from "../../rules/policy/evaluate.ts";
import { isProse, readGiven } from "../../rules/policy/given.ts";
import { type Ladder, levelName, levelNames } from "../../rules/policy/levels.ts";
import { type PolicyFinding, lintRules, undeclared } from "../../rules/policy/lint.ts";
import { ACTION_WORDS, type Action, type Judgement, type RuleSet, actionOf, judge, judgeStrictest } from "../../rules/policy/verdict.ts";
import { isCurrency } from "../../rules/tools/trace.ts";
import type { Json, Policies, Tree } from "../../kernel/ports.ts";
import { STRICTNESS } from "../../kernel/verdict.ts";
import type { DiskCache } from "../../scripts/disk-cache.ts";
import { checkYaml, readYaml } from "../../scripts/yaml-text.ts";
import type { Config } from "./config.ts";
import { text } from "./fields.ts";
import { POLICIES, policyFile } from "../layout.ts";

const line = (what: string) => text(what, 500);
const id = z.string({ error: "write the rule's id" }).regex(/^[A-Z][A-Z0-9_]{0,79}$/, "write an id such as VARIANCE_GT_2PCT");
const fact = z.string().regex(/^(?!threshold(?:\.|$))[\p{L}_][\p{L}\p{N}_.-]{0,79}$/u, "write a name such as variance_pct");
// A number with more than 15 digits was already rounded by the parser.
const isFigure = (value: unknown): boolean =>
  typeof value === "number"
    ? Number.isFinite(value) && String(value).replace(/\D/g, "").length <= 15
    : typeof value === "string" && (isDecimal(value) || dayOrMoment(value) !== null);
const threshold = z.custom<Json>(
  (value) => (Array.isArray(value) ? value.length > 0 && value.every((one) => typeof one === "string" || isFigure(one)) : isFigure(value)),
  "write a number without separators or signs (of more than 15 digits as text), a day, or a list",
);
const oneOf = <T extends string>(what: string, known: readonly T[]) =>
  z
    .string({ error: `write the ${what}` })
    .transform(levelName)
    .pipe(
      z.enum(known as [T], {
        error: ({ input }) => `no ${what} is called "${String(input)}".${didYouMean(String(input), known)} There are: ${known.join(", ")}`,
      }),
    );

const packSchema = (name: string, ladder: Ladder) => {
  const level = oneOf("level", levelNames(ladder));
  const when = z.union([z.literal(true), z.string()], { error: "write a condition" }).transform((text, ctx): Condition => {
    try {
      return parseCondition(String(text));
    } catch (error) {
      if (!(error instanceof ClearedError)) throw error;
      ctx.issues.push({ code: "custom", message: error.message, input: text });
      return z.NEVER;
    }
  });
  return z.strictObject({
    process: z.literal(name, { error: `write ${name}, the name of the file` }),
    source: line("who wrote it"),
    facts: z.record(fact, oneOf("kind", KINDS)),
    requester: fact.optional(),
    thresholds: z.record(z.string(), threshold).default({}),
    rules: z.array(
      z.strictObject({
        id,
        when,
        action: oneOf("action", ACTION_WORDS).transform((word) => actionOf(word) as Action),
        level: level.nullable().default(null),
        approvals: z.int().min(1).max(9).default(1),
        description: line("what it is for"),
        distinct_from_requester: z.boolean().default(false),
      }),
    ),
    prose: z.array(z.string().regex(/^[0-9a-f]{64}$/, "write the 64 digits that stand for the text")).default([]),
    usual: z.record(z.string(), z.json()).default({}),
    cases: z
      .array(
        z.strictObject({
          name: line("what the case shows"),
          facts: z.record(z.string(), z.json()).default({}),
          without: z.array(z.string()).default([]),
          verdict: oneOf("verdict", STRICTNESS),
          level: level.optional(),
          approvals: z.int().optional(),
          rules: z.array(id).optional(),
          unknown: z.array(id).optional(),
        }),
      )
      .default([]),
  });
};

export type PolicyCase = z.output<ReturnType<typeof packSchema>>["cases"][number];

export interface Pack {
  process: string;
  source: string;
  /** Its facts are empty: a run supplies them. */
  set: RuleSet;
  /** proseDigest of each prose policy that became these rules: a run given one of them is judged by the rules instead. */
  prose: string[];
  cases: PolicyCase[];
  warnings: { at: At; message: string }[];
  /** sha256 of its text. */
  hash: string;
}

/** @throws POLICY_INVALID at file:line; `data.findings` has all problems */
export function parsePack(text: string, file: string, ladder: Ladder, cache?: DiskCache): Pack {
  const source = { file, code: "POLICY_INVALID" as const, maxLength: 262_144, cache };
  const yaml = readYaml(text, source);
  const name = file.slice(file.lastIndexOf("/") + 1).replace(/\.yaml$/, "");
  const { facts, thresholds, rules, usual, requester, ...rest } = checkYaml(yaml, packSchema(name, ladder), source);
  const kinds = new Map<string, Kind>(Object.entries(facts));
  const set: RuleSet = {
    source: file,
    rules,
    kinds,
    thresholds,
    facts: {},
    loose: false,
    ...(requester === undefined ? {} : { requester }),
  };
  const given = [{ at: ["usual"], facts: usual }, ...rest.cases.map((one, index) => ({ at: ["cases", index, "facts"], facts: one.facts }))];
  const foreign = given.flatMap(({ at, facts: known }) =>
    Object.keys(known)
      .filter((key) => !set.kinds.has(key))
      .map((key): PolicyFinding => ({ path: [...at, key], message: undeclared(key, set), warning: false })),
  );
  const found = [...lintRules(rules, set, ladder), ...foreign].map((one) => ({ ...one, at: yaml.at(one.path) }));
  const errors = found.filter((one) => !one.warning);
  if (errors[0] !== undefined)
    throw new ClearedError("POLICY_INVALID", `${file}:${errors[0].at.line ?? 1}: ${errors[0].message}`, {
      at: errors[0].at,
      data: { findings: errors.slice(0, 20).map(({ at, message }) => ({ code: "POLICY_INVALID", at, message })) },
    });
  const cases = rest.cases.map((one) => ({ ...one, facts: without({ ...usual, ...one.facts }, one.without) }));
  return { ...rest, set, cases, warnings: found, hash: createHash("sha256").update(text).digest("hex") };
}

const without = (facts: PolicyCase["facts"], names: readonly string[]): PolicyCase["facts"] =>
  Object.fromEntries(Object.entries(facts).filter(([name]) => !names.includes(name)));

/** How the pack's verdict on a case's facts differs from the case; `failure` null when it holds. Fields that the case omits are not compared. */
export function failureOf(one: PolicyCase, pack: Pack, ladder: Ladder): { failure: string | null; verdict: Judgement } {
  const verdict = judge([{ ...pack.set, facts: one.facts }], ladder);
  const got = {
    verdict: verdict.verdict,
    level: verdict.level,
    approvals: verdict.approvals,
    rules: verdict.triggered.map(({ rule }) => rule),
    unknown: verdict.indeterminate.map(({ rule }) => rule),
  };
  const wrong = (Object.keys(got) as (keyof typeof got)[]).filter(
    (key) => one[key] !== undefined && canonicalJson([one[key]].flat().sort()) !== canonicalJson([got[key]].flat().sort()),
  );
  const inWords = (key: keyof typeof got): string => `${key} is ${JSON.stringify(got[key])}, not ${JSON.stringify(one[key])}`;
  return { failure: wrong.length === 0 ? null : wrong.map(inWords).join("; "), verdict };
}

// A pack is parsed and checked once per content and ladder; a workspace has a few dozen.
const packs = new Kept<string, Pack>(200);

/** @throws POLICY_INVALID at file:line, POLICY_UNKNOWN with the nearest name */
async function packAt(base: Tree, name: string, ladder: Ladder, cache: DiskCache | undefined): Promise<Pack> {
  const file = policyFile(name);
  const blob = await base.blob(file);
  if (blob === null) {
    const names = (await base.list(POLICIES)).flatMap(({ path }) => (path.endsWith(".yaml") ? [path.slice(POLICIES.length, -5)] : []));
    throw new ClearedError("POLICY_UNKNOWN", `There is no ${file}.${didYouMean(name, names)} There are: ${names.join(", ") || "none"}.`);
  }
  return packs.load(canonicalJson([file, blob, ladder]), async () => parsePack((await base.read(file)) ?? "", file, ladder, cache));
}

export interface PoliciesOptions {
  /** The tree of the run's commit. */
  base: Tree;
  config: Pick<Config, "policy" | "currency">;
  /** The policy document given with the run. */
  given?: string | undefined;
  /** The disk cache of parsed packs. */
  cache?: DiskCache;
}

/** Hash of a policy in prose, regardless of white space. */
export const proseDigest = (text: string): string => createHash("sha256").update(text.trim().replace(/\s+/g, " ")).digest("hex");

/** A pack's figures are in the workspace's currency: when the facts name another one, or give none for it, their amounts are unknown to the pack. */
function heldAgainst({ set }: Pack, facts: RuleSet["facts"], currency: string): RuleSet {
  const names = Object.keys(facts).filter(
    (name) => isCurrency(name) && (set.kinds.get(name) === "text" || typeof facts[name] === "string"),
  );
  if (names.every((name) => facts[name] === currency)) return { ...set, facts };
  const known = Object.entries(facts).filter(([name]) => set.kinds.get(name) !== "money");
  return { ...set, facts: Object.fromEntries(known), unit: currency };
}

export function createPolicies({ base, config, cache, given: text }: PoliciesOptions) {
  const ladder = config.policy;
  const given = readGiven(text);
  const prose = text !== undefined && isProse(text) ? proseDigest(text) : "";
  const used = new Map<string, Promise<{ pack: Pack; hash: string }>>();
  const load = async (name: string) => {
    const pack = await packAt(base, name, ladder, cache);
    return { pack, hash: sha256([pack.hash, text ?? null, ladder]) };
  };
  return {
    /** As in the Policies port; `declared`: names of the facts that a pack declares; `most`: what the rules ask for with any facts. */
    async evaluate(...[name, facts, own = { name, required: true }]: Parameters<Policies["evaluate"]>) {
      const names = [name];
      if (own.name !== name && (own.required || (await base.blob(policyFile(own.name))) !== null)) names.unshift(own.name);
      const loaded = await Promise.all(names.map((one) => used.getOrInsertComputed(one, load)));
      const sets: RuleSet[] = loaded.map(({ pack }) => heldAgainst(pack, facts, config.currency));
      const declared = Object.keys(facts).filter((fact) => sets.some(({ kinds }) => kinds.has(fact)));
      if (given !== null && !loaded.some(({ pack }) => pack.prose.includes(prose))) {
        // A fact that a pack declares is known to the given rules too, even if it has no value.
        const kinds = new Map(sets.flatMap((set) => [...set.kinds.keys()]).map((key): [string, Kind] => [key, "any"]));
        sets.push({ ...given, kinds, facts: { ...given.facts, ...facts } });
      }
      const hashes = loaded.map(({ hash }) => hash);
      const policy_hash = hashes.length === 1 ? (hashes[0] ?? "") : sha256(hashes);
      return {
        ...judge(sets, ladder),
        inputs_hash: sha256(sets.map((set) => set.facts)),
        policy_hash,
        declared,
        most: judgeStrictest(sets, ladder),
      };
    },
  };
}

const sha256 = (value: unknown): string => createHash("sha256").update(canonicalJson(value)).digest("hex");
