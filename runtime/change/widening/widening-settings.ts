/**
 * The meaning of a changed setting: config.yaml, dialects of statements, parts of a policy other than its rules, knowledge files. Each changed
 * leaf is judged by the first row that names it; one without a row is reported as changed.
 */
import { DEFAULT_PRIVACY } from "../../rules/privacy/judge.ts";
import { isAtMost } from "../../engine/authority.ts";
import type { Json } from "../../kernel/ports.ts";
import { type Config, settingWords } from "../../workspace/settings/config.ts";
import { modelRolesOf } from "../../workspace/settings/models.ts";
import { apart, parting } from "../evidence/partings.ts";
import { dataChanges } from "./data-files.ts";
import { type LeafChange, changeWords, leafChanges, named as thingsIn, shownValue, hostsIn, recipientsIn } from "./leaves.ts";
import { type Line, tell, widen } from "./widening-rows.ts";
import type { ChangeKind, WideningKind } from "../proposal-types.ts";

/** A line and the key it is about, from which its place is found. */
export type SettingLine = Line & { key: string };
/** A key, when a change of it loosens something, and a remark to the change. */
type Row = [key: RegExp, loosens: (one: LeafChange) => boolean, after?: string, kind?: WideningKind];

const always = (): boolean => true;
const wasSet = ({ was }: LeafChange): boolean => was !== undefined;
const fell = ({ was, now }: LeafChange): boolean => was === undefined || now === undefined || Number(now) < Number(was);
const rose = ({ was, now }: LeafChange): boolean => typeof was !== "number" || typeof now !== "number" || now > was;
const WORDS = ["allow", "redact", "refuse"];

const CONFIG_ROWS: Row[] = [
  [/^business\.|^web\./, () => false],
  [/^thresholds\.auto_confirm$/, fell],
  [/^thresholds\./, wasSet],
  [/^privacy\./, ({ was, now }) => WORDS.indexOf(String(now)) < WORDS.indexOf(String(was)), ": more may pass"],
  [/^closed_through$/, ({ was, now = "" }) => was !== undefined && String(now) < String(was), ": entries of that time may change again"],
  [/^policy\./, always, ": who ranks above whom"],
  [/^notify\.quiet_hours/, wasSet],
  [/^notify\.default$/, always, ": where notices go", "recipient"],
  [/^models\.(?:small|large|judge)$/, always, ": what a model is sent goes there"],
  [/^models\.budgets\..*usd$/, ({ was, now }) => !isAtMost(now, was), ": more may be spent on models"],
  [/^models\.budgets/, rose, ": more may be spent on models"],
  [/^statements\b/, always, ": which statement belongs to which account"],
  [/^changes\..*cooldown|^import\.settle_seconds$/, fell],
  [/^changes\./, rose],
];

function judged(
  changes: readonly LeafChange[],
  rows: readonly Row[],
  before = "",
  told: ChangeKind = "value",
  words: (key: string) => string = () => "",
): SettingLine[] {
  return changes.map((one) => {
    const [, loosens, after = "", kind = "setting"] = rows.find(([key]) => key.test(one.key)) ?? [/^/, always];
    const widens = loosens(one);
    const [text, what] = [`${before}${changeWords(one)}`, words(one.key)];
    const more = widens && after !== "" ? after : what === "" ? "" : `: ${what}`;
    return { ...(widens ? widen(kind, text + more) : tell(told, text + more)), key: one.key };
  });
}

export function configWidening(was: Config, now: Config): SettingLine[] {
  const changes = leafChanges(settingsOf(was), settingsOf(now), (key) => key === "notify.quiet_hours");
  const [old, fresh] = [was, now].map(({ statements }) => [...thingsIn(statements as unknown as Json[]).keys()]) as [string[], string[]];
  const common = old.filter((name) => fresh.includes(name));
  const first = fresh.filter((name) => common.includes(name)).find((name, i) => name !== common[i]);
  const text = `statements[${first}] now comes before others that it came after: the first that fits says to which account a statement belongs`;
  return [
    ...judged(changes, CONFIG_ROWS, "", "value", settingWords),
    ...(first === undefined ? [] : [{ ...widen("setting", text), key: "statements" }]),
  ];
}

/** With defaults filled in, including those of privacy. */
function settingsOf({ raw: _, privacy, policy, ...config }: Config): Json {
  const groups = Object.entries(DEFAULT_PRIVACY).map(([group, words]) => [group, { ...words, ...privacy[group as keyof typeof privacy] }]);
  return {
    ...config,
    models: modelRolesOf(config),
    privacy: Object.fromEntries(groups),
    policy: { ladder: ladderText(policy) },
  } as unknown as Json;
}

/** Ranks low to high, equal ones in one place, then roles. */
const ladderText = ({ ranks, roles }: Config["policy"]): string =>
  `${ranks.map((rung) => rung.join("/")).join(" < ")}; roles ${roles.join(", ")}`;

/** `was` null: it is new, and may match statements that another dialect has parsed. */
export function dialectWidening(name: string, was: Json | null, now: Json | null): SettingLine[] {
  const key = "name";
  if (now === null) return [{ ...widen("setting", `statements are no longer read by the dialect ${name}`), key }];
  if (was === null)
    return [{ ...tell("setting", `a new dialect, ${name}, reads statements with ${shownValue((now as { match?: Json }).match)}`), key }];
  const set = (value: Json | undefined) => (Array.isArray(value) ? value.map(String).sort().join("\n") : "");
  const changes = leafChanges(was, now).filter((one) => !/\.is$/.test(one.key) || set(one.was) === "" || set(one.was) !== set(one.now));
  return judged(changes, [[/^description$/, () => false]], `how statements are read by ${name} changes: `, "text");
}

/** Parts of a policy not yet reported by its strictness; `told`: its rules, thresholds and cases. */
export function policyRest(name: string, was: Json, now: Json, told: ReadonlySet<string>): SettingLine[] {
  // Conditions of rules and cases are compared by meaning: the order of their parts does not matter.
  const changes = leafChanges(was, now).filter(
    ({ key }) =>
      !key.endsWith("].when") &&
      !key.startsWith("cases[") &&
      ![...told].some((word) => key.includes(`[${word}]`) || key === `thresholds.${word}`),
  );
  // Whoever decides by a rule reads its description.
  const isWords = ({ key }: LeafChange) => /description$|^source$/.test(key) && !key.startsWith("rules[");
  const [texts, values] = [true, false].map((isText) => changes.filter((one) => isWords(one) === isText));
  const never: Row[] = [[/^/, () => false]];
  return [...judged(texts ?? [], never, `${name}: `, "text"), ...judged(values ?? [], never, `${name}: `)];
}

const named = (value: string, path = ""): string[] => [...recipientsIn({ value, path }), ...hostsIn({ value, path })];
// Reported values per file.
const VALUES = 100;

/** Changed values of JSON or CSV with their element; null for any other text. */
function dataLines(path: string, was: string, now: string): SettingLine[] | null {
  const { changes, order } = dataChanges(path, was, now) ?? {};
  if (changes === undefined || order === undefined) return null;
  const lines = changes.map(({ key, was: old, now: next, given }): SettingLine => {
    const words =
      old === null ? `adds ${key}: ${next}` : next === null ? `no longer has ${key}: ${old}` : `${key} is ${next} instead of ${old}`;
    const isPayee = given.some(([cell, value]) => named(value, cell).length > 0);
    return { ...(isPayee ? widen("recipient", `${path}: ${words}`) : tell("value", `${path}: ${words}`)), key };
  });
  const sorted = [...lines.filter(({ widens }) => widens), ...lines.filter(({ widens }) => !widens)];
  const more = sorted.length > VALUES ? [{ ...tell("value", `${path}: ${sorted.length - VALUES} more values differ`), key: "" }] : [];
  const moved = order === null ? [] : [{ ...tell("value", `${path}: ${order[0]} now comes before ${order[1]}`), key: order[0] }];
  return [...sorted.slice(0, VALUES), ...more, ...moved];
}

/** Lines of a text that were added, removed or moved, with the people and accounts they name. Indented lines belong to what is above. */
export function textWidening(path: string, was: string | null, now: string | null): SettingLine[] {
  const data = dataLines(path, was ?? "", now ?? "");
  if (data !== null) return data;
  const linesIn = (text: string | null) => (text ?? "").split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trimEnd()]));
  const texts = [linesIn(was), linesIn(now)];
  // Equal lines are told apart by the line above.
  const often = new Set(texts.flatMap((all) => [...Map.groupBy(all, String)].flatMap(([line, { length }]) => (length > 1 ? [line] : []))));
  const told = (all: string[]) =>
    all.map((line, i) => (often.has(line) && /\w/.test(line) ? `${line} (below ${all[i - 1] ?? "nothing"})` : line));
  const [before, after] = texts.map(told) as [string[], string[]];
  const [gone, fresh] = apart(before, after, String);
  const known = new Set(before.flatMap((line) => named(line)));
  const recipients = fresh.flatMap((line) => named(line)).filter((one) => !known.has(one));
  const words = Array.from({ length: Math.max(gone.length, fresh.length) }, (_, i): [string, string, Line["kind"]] => {
    const [old, next] = [gone[i], fresh[i]];
    if (old === undefined) return [next ?? "", `says ${shownValue(next)}`, "value"];
    if (next === undefined) return [old, `no longer says ${shownValue(old)}`, "value"];
    // Everything it names occurs elsewhere in the text; a new name is reported by itself.
    const isMoved = named(next).every((one) => known.has(one)) && named(next).length > 0 && named(next).join() !== named(old).join();
    const how =
      old.length + next.length > 160 ? `changes: ${parting(old, next)}` : `says ${shownValue(next)} instead of ${shownValue(old)}`;
    return [next, how, isMoved ? "recipient" : "value"];
  });
  return [
    ...recipients.map((key) => ({ ...widen("recipient", `${path} names a new recipient: ${JSON.stringify(key)}`), key })),
    ...words.map(([key, text, kind]) => ({
      ...(kind === "recipient" ? widen(kind, `${path} ${text}`) : tell(kind, `${path} ${text}`)),
      key,
    })),
    ...movedLines(before, after).map(([key, above]) => {
      const text = `${path} has ${shownValue(key)} ${above === "" ? "first" : `below ${shownValue(above)}`}, where it was not`;
      return { ...(named(key).length > 0 ? widen("recipient", text) : tell("value", text)), key };
    }),
  ];
}

/** Lines in both versions below another line than before, each with that line: an account under another name belongs to somebody else. */
function movedLines(before: readonly string[], after: readonly string[]): [line: string, above: string][] {
  const apartIn = new Set(apart(before, after, String).flat());
  const [old, now] = [before, after].map((all) => all.filter((line) => !apartIn.has(line))) as [string[], string[]];
  const above = Map.groupBy(old.keys(), (i) => old[i] ?? "");
  return now.flatMap((line, i) => {
    const from = old[(above.get(line)?.shift() ?? 0) - 1] ?? "";
    return from === (now[i - 1] ?? "") ? [] : [[line, now[i - 1] ?? ""] as [string, string]];
  });
}
