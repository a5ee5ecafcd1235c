/**
 * Settings of config.yaml that loosen something. Each changed value is judged by the first row of RULES that names it; a key without a row
 * is told as changed, so that a setting which is new to this file is never waved through.
 */
import { DEFAULT_PRIVACY } from "../privacy/judge.ts";
import type { Json } from "../ports.ts";
import type { Config } from "../workspace/config.ts";
import { CONFIG } from "../workspace/layout.ts";
import type { Widening, WideningKind } from "./types.ts";

type Value = Json | undefined;
/** Null: nothing is loosened. */
type Judge = (key: string, was: Value, now: Value) => { kind: WideningKind; text: string } | null;

const told = (value: Value): string => (value === undefined ? "not set" : JSON.stringify(value).slice(0, 120));
const setting = (text: string) => ({ kind: "setting" as const, text });
const changed: Judge = (key, was, now) => setting(`${key} is ${told(now)} instead of ${told(was)}`);
const lower: Judge = (key, was, now) =>
  now !== undefined && Number(now) >= Number(was) ? null : setting(`${key} is lowered from ${told(was)} to ${told(now)}`);
const higher: Judge = (key, was, now) =>
  now !== undefined && Number(now) <= Number(was) ? null : setting(`${key} is raised from ${told(was)} to ${told(now)}`);
const WORDS = ["allow", "redact", "refuse"];

const RULES: [RegExp, Judge][] = [
  [/^business\.|^web\./, () => null],
  [/^thresholds\.auto_confirm$/, (key, was, now) => (was === undefined ? changed(key, was, now) : lower(key, was, now))],
  [/^thresholds\./, (key, was, now) => (was === undefined ? null : changed(key, was, now))],
  [
    /^privacy\./,
    (key, was, now) =>
      WORDS.indexOf(String(now)) >= WORDS.indexOf(String(was))
        ? null
        : setting(`${key} is ${told(now)} instead of ${told(was)}: more may pass`),
  ],
  [
    /^closed_through$/,
    (_, was, now) =>
      was === undefined || (typeof now === "string" && now >= String(was))
        ? null
        : setting(`the books are closed through ${told(now)} instead of ${told(was)}: entries of that time may change again`),
  ],
  [/^policy\./, (_, was, now) => setting(`who stands above whom changes: ${told(now)} instead of ${told(was)}`)],
  [
    /^notify\.quiet_hours$/,
    (key, was, now) =>
      was === undefined ? null : now === undefined ? setting("there are no quiet hours any more") : changed(key, was, now),
  ],
  [/^notify\.default$/, (_, was, now) => ({ kind: "recipient", text: `notices go to ${told(now)} instead of ${told(was)}` })],
  [/^import\.settle_seconds$/, lower],
  [/^statements$/, (_, was, now) => setting(`which statement belongs to which account changes: ${told(now)} instead of ${told(was)}`)],
  [/^changes\..*cooldown/, lower],
  [/^changes\./, (key, was, now) => (typeof was === "number" && typeof now === "number" ? higher(key, was, now) : changed(key, was, now))],
];

/** @param lineOf the line of the new text where a dotted key stands */
export function configWidening(was: Config, now: Config, lineOf: (key: string) => number | undefined): Widening[] {
  const [before, after] = [leaves(was), leaves(now)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key): Widening[] => {
    const [old, fresh] = [before.get(key), after.get(key)];
    if (JSON.stringify(old) === JSON.stringify(fresh)) return [];
    const judge = RULES.find(([pattern]) => pattern.test(key))?.[1] ?? changed;
    const found = judge(key, old, fresh);
    const line = lineOf(key);
    return found === null ? [] : [{ ...found, at: { file: CONFIG, ...(line === undefined ? {} : { line }) } }];
  });
}

/** Values by dotted key, with defaults filled in. What only makes sense as a whole (lists, quiet hours, the ladder) is one value. */
function leaves({ raw: _, privacy, policy, ...config }: Config): Map<string, Json> {
  const found = new Map<string, Json>();
  const walk = (value: Json | undefined, key: string): void => {
    if (value === undefined) return;
    const whole = typeof value !== "object" || value === null || Array.isArray(value) || key === "notify.quiet_hours";
    if (whole) found.set(key, value);
    else for (const [name, one] of Object.entries(value)) walk(one, key === "" ? name : `${key}.${name}`);
  };
  walk(config as unknown as Json, "");
  for (const [group, words] of Object.entries(DEFAULT_PRIVACY))
    walk({ ...words, ...privacy[group as keyof typeof privacy] } as Json, `privacy.${group}`);
  found.set("policy.ladder", policy as unknown as Json);
  return found;
}
