/**
 * What a changed setting means: config.yaml, dialects of statements, what stands in a policy beside its rules, files of knowledge. Each leaf
 * that changes is judged by the first row that names it; one without a row is told as changed.
 */
import { DEFAULT_PRIVACY } from "../privacy/judge.ts";
import type { Json } from "../ports.ts";
import type { Config } from "../workspace/config.ts";
import { parting } from "../evidence/acts.ts";
import { type LeafChange, changeWords, leafChanges, shownValue } from "./leaves.ts";
import { hostsIn, recipientsIn } from "./recipients.ts";
import type { ChangeKind, WideningKind } from "./types.ts";

export interface SettingLine {
  kind: ChangeKind;
  widens: boolean;
  text: string;
  /** Where it stands, for its line. */
  key: string;
}
type Row = [key: RegExp, judge: (one: LeafChange) => [kind: ChangeKind, widens: boolean, text: string]];

const setting = (text: string): [WideningKind, boolean, string] => ["setting", true, text];
const value = (text: string): [ChangeKind, boolean, string] => ["value", false, text];
const fell = ({ was, now }: LeafChange): boolean => now === undefined || Number(now) < Number(was);
const rose = ({ was, now }: LeafChange): boolean => now === undefined || Number(now) > Number(was);
const WORDS = ["allow", "redact", "refuse"];

const CONFIG_ROWS: Row[] = [
  [/^business\.|^web\./, (one) => value(changeWords(one))],
  [
    /^thresholds\.auto_confirm$/,
    (one) =>
      one.was === undefined
        ? setting(changeWords(one))
        : fell(one)
          ? setting(`${one.key} is lowered from ${shownValue(one.was)} to ${shownValue(one.now)}`)
          : value(changeWords(one)),
  ],
  [/^thresholds\./, (one) => (one.was === undefined ? value : setting)(changeWords(one))],
  [
    /^privacy\./,
    (one) =>
      WORDS.indexOf(String(one.now)) >= WORDS.indexOf(String(one.was))
        ? value(changeWords(one))
        : setting(`${changeWords(one)}: more may pass`),
  ],
  [
    /^closed_through$/,
    (one) =>
      one.was === undefined || (typeof one.now === "string" && one.now >= String(one.was))
        ? value(changeWords(one))
        : setting(
            `the books are closed through ${shownValue(one.now)} instead of ${shownValue(one.was)}: entries of that time may change again`,
          ),
  ],
  [/^policy\./, (one) => setting(`who stands above whom changes: ${changeWords(one)}`)],
  [
    /^notify\.quiet_hours/,
    (one) =>
      one.was === undefined
        ? value(changeWords(one))
        : setting(one.now === undefined ? "there are no quiet hours any more" : changeWords(one)),
  ],
  [/^notify\.default$/, (one) => ["recipient", true, `notices go to ${shownValue(one.now)} instead of ${shownValue(one.was)}`]],
  [
    /^statements\b/,
    (one) =>
      setting(
        `which statement belongs to which account changes: ${one.was === undefined ? `${one.key} is booked to ${shownValue((one.now as { account?: Json } | undefined)?.account)}` : changeWords(one)}`,
      ),
  ],
  [
    /^changes\..*cooldown|^import\.settle_seconds$/,
    (one) => (fell(one) ? setting(`${one.key} is lowered from ${shownValue(one.was)} to ${shownValue(one.now)}`) : value(changeWords(one))),
  ],
  [
    /^changes\./,
    (one) =>
      typeof one.was !== "number" || typeof one.now !== "number"
        ? setting(changeWords(one))
        : rose(one)
          ? setting(`${one.key} is raised from ${shownValue(one.was)} to ${shownValue(one.now)}`)
          : value(changeWords(one)),
  ],
];

function judged(
  changes: readonly LeafChange[],
  rows: readonly Row[],
  otherwise: Row[1] = (one) => setting(changeWords(one)),
): SettingLine[] {
  return changes.map((one) => {
    const [kind, widens, text] = (rows.find(([key]) => key.test(one.key))?.[1] ?? otherwise)(one);
    return { kind, widens, text, key: one.key };
  });
}

export function configWidening(was: Config, now: Config): SettingLine[] {
  return judged(
    leafChanges(settingsOf(was), settingsOf(now), (key) => key === "notify.quiet_hours"),
    CONFIG_ROWS,
  );
}

/** With defaults filled in, those of privacy too. */
function settingsOf({ raw: _, privacy, policy, ...config }: Config): Json {
  const groups = Object.entries(DEFAULT_PRIVACY).map(([group, words]) => [group, { ...words, ...privacy[group as keyof typeof privacy] }]);
  return { ...config, privacy: Object.fromEntries(groups), policy: { ladder: ladderText(policy) } } as unknown as Json;
}

/** Low to high, equals in one place, roles behind. */
const ladderText = ({ ranks, roles }: Config["policy"]): string =>
  `${ranks.map((rung) => rung.join("/")).join(" < ")}; roles ${roles.join(", ")}`;

/** `was` null: it is new, and may take statements that another one has read. */
export function dialectWidening(name: string, was: Json | null, now: Json | null): SettingLine[] {
  const line = (widens: boolean, text: string) => [{ kind: "setting" as const, widens, text, key: "name" }];
  if (now === null) return line(true, `statements are no longer read by the dialect ${name}`);
  if (was === null)
    return line(false, `a new dialect, ${name}, reads statements whose columns are ${shownValue((now as { match?: Json } | null)?.match)}`);
  return judged(leafChanges(was, now), [[/^description$/, (one) => ["text", false, changeWords(one)]]], (one) =>
    setting(`how statements are read by ${name} changes: ${changeWords(one)}`),
  );
}

/** What stands in a policy and no rule of strictness has told: `told` are the rules, thresholds and cases it has. */
export function policyRest(name: string, was: Json, now: Json, told: ReadonlySet<string>): SettingLine[] {
  // What a rule covers is compared by what it means: two conditions in another order are one. So are cases.
  const changes = leafChanges(was, now).filter(
    ({ key }) =>
      !key.endsWith("].when") &&
      !/^cases\[.*\]\./.test(key) &&
      ![...told].some((word) => key.includes(`[${word}]`) || key === `thresholds.${word}`),
  );
  return judged(changes, [[/description$|^source$/, (one) => ["text", false, `${name}: ${changeWords(one)}`]]], (one) =>
    value(`${name}: ${changeWords(one)}`),
  );
}

/** Lines of a text that are new or gone, with whom they name; @param path for what only its name tells */
export function textWidening(path: string, was: string | null, now: string | null): SettingLine[] {
  const [before, after] = [was, now].map((text) =>
    (text ?? "")
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean),
  ) as [string[], string[]];
  const [gone, fresh] = [before.filter((line) => !after.includes(line)), after.filter((line) => !before.includes(line))];
  const named = (text: string) => [...recipientsIn({ value: text, path: "" }), ...hostsIn({ value: text, path: "" })];
  const known = new Set(before.flatMap(named));
  const recipients = fresh.flatMap(named).filter((one) => !known.has(one));
  const words = Array.from({ length: Math.max(gone.length, fresh.length) }, (_, i): [string, string] => {
    const [old, next] = [gone[i], fresh[i]];
    const shown = (text: string) => shownValue(text);
    if (old === undefined) return [next ?? "", `says ${shown(next ?? "")}`];
    return [
      next ?? old,
      next === undefined
        ? `no longer says ${shown(old)}`
        : old.length + next.length > 160
          ? `changes: ${parting(old, next)}`
          : `says ${shown(next)} instead of ${shown(old)}`,
    ];
  });
  return [
    ...recipients.map((one) => ({
      kind: "recipient" as const,
      widens: true,
      text: `${path} names a new recipient: ${JSON.stringify(one)}`,
      key: one,
    })),
    ...words.map(([key, text]) => ({ kind: "value" as const, widens: false, text: `${path} ${text}`, key })),
  ];
}
