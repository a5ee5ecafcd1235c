/** The details of a proposal's card, as lines: who proposed it and why, what its files say, the checks, the recorded runs, the cases. */
import { formatAt } from "../../kernel/errors.ts";
import { grouped } from "../evidence/partings.ts";
import { backtestLines } from "../evidence/words.ts";
import { dayIn } from "../../scripts/header.ts";
import { agentFile } from "../../workspace/layout.ts";
import { asCode, oneLine, upTo } from "../../kernel/text.ts";
import type { CheckResult, Proposal, Report, TextChange } from "../proposal-types.ts";

/** What a card shows in addition to the proposal itself. */
export interface CardAround {
  /** Earlier proposals on the same files that were rejected, newest first. */
  rejected?: readonly Pick<Proposal, "title" | "by" | "why">[];
  /** Days are shown in this zone; UTC by default. */
  timezone?: string;
}

export interface CardPart {
  name: string;
  lines: string[];
}

const LISTED = 10;
const MANY = 50;

export const checkName = (check: CheckResult["check"]): string => check.replace("_", " ");

export const quoted = (text: string, limit = 300): string => `“${oneLine(text, limit)}”`;
export const count = (n: number, one: string): string => `${grouped(String(n))} ${one}${n === 1 ? "" : "s"}`;
export const listed = (all: readonly string[]): string => upTo(all, LISTED).join(", ");

export const nameIn = (report: Report | null, agent: string): string => oneLine(report?.names?.[agentFile(agent)] ?? agent, 60);

/** In the order in which a reader needs them. */
export function detailsOf(proposal: Proposal, { rejected = [], timezone = "UTC" }: CardAround): CardPart[] {
  const { report, title, reason, by, at, state, why, files } = proposal;
  const verbs = { added: "adds", changed: "changes", removed: "removes" };
  const changed = files.map(({ path, change }) => {
    const name = report?.names?.[path];
    return `${verbs[change]} ${name === undefined ? path : `${oneLine(name, 60)} (${path})`}`;
  });
  const about = [
    `${quoted(title, 200)}, proposed by ${oneLine(by, 100)} on ${dayIn(timezone, at)}${reason === "" ? ", without a reason" : `: ${quoted(reason, 600)}`}`,
    `it is ${state}${why === null ? "" : `: ${oneLine(why, 600)}`}`,
    ...upTo(changed, MANY),
    ...rejected
      .slice(0, 3)
      .map(
        (one) => `rejected before: ${quoted(one.title, 120)} by ${oneLine(one.by, 60)}${one.why === null ? "" : `: ${oneLine(one.why)}`}`,
      ),
  ];
  if (report === null) return [{ name: "About", lines: about }];
  const line = ({ kind, text, at: place }: TextChange) =>
    `${kind}: ${asCode(oneLine(text, 400))}${place === null ? "" : ` (${oneLine(formatAt(place), 250)})`}`;
  const freezes = Object.keys(report.freezes).length;
  const { passed, failed, open, fixed, untried = [] } = report.cases;
  return [
    { name: "About", lines: about },
    {
      name: "What its files say differently",
      lines: upTo([...report.widening.map((one) => `! ${line(one)}`), ...(report.changes ?? []).map(line)], MANY),
    },
    { name: "Checks", lines: checks(report) },
    {
      name: "Recorded runs",
      lines: report.backtests
        .filter(({ runs }) => runs > 0)
        .flatMap((one) =>
          backtestLines(one).map((text, i) =>
            (i === 0 ? `${nameIn(report, one.agent)}: ${text}` : text).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 500),
          ),
        ),
    },
    {
      name: "Tried without acting",
      lines: report.dryRun.flatMap(({ agent, lines }) => {
        const tried = lines.map((text) => `  ${oneLine(text)}`);
        return [`${nameIn(report, agent)}:`, ...upTo(tried, MANY)];
      }),
    },
    {
      name: "Cases",
      lines: [
        ...(passed + failed.length + open.length + fixed.length === 0
          ? []
          : [`${passed} of ${passed + failed.length} hold${fixed.length === 0 ? "" : `, ${fixed.length} of them for the first time`}`]),
        ...failed.map((one) => `would change: ${one}`),
        ...open.map((one) => `a correction that no script has learnt yet: ${one}`),
        ...untried.map((one) => `could not be tried: ${one}`),
        ...(freezes === 0
          ? []
          : [`approving it keeps ${count(freezes, "run")} as ${freezes === 1 ? "a case" : "cases"} that later changes must not break`]),
      ],
    },
  ];
}

function checks({ checks: all }: Report): string[] {
  const ok = all
    .filter(({ status }) => status === "ok")
    .map(({ check, says }) => `${checkName(check)}${check === "cases" && /^[1-9]/.test(says) ? ` ${says}` : ""}`);
  const failed = all.filter(({ status }) => status === "failed");
  // Remarks about cases and recorded runs are shown with them.
  const remarks = all.flatMap(({ check, findings }) =>
    check === "cases" || check === "backtest" ? [] : findings.filter(({ remark }) => remark === true),
  );
  return [
    ...(ok.length === 0 ? [] : [`passed: ${ok.join(", ")}`]),
    ...upTo(
      remarks.map(({ at, code, message }) => `remark: ${oneLine(formatAt(at), 250)} ${code}: ${oneLine(message, 400)}`),
      LISTED,
    ),
    ...failed.flatMap(({ check, says, findings }) => [
      `failed: ${checkName(check)} (${oneLine(says, 120)})`,
      ...upTo(
        // What the backtest found worse is shown with the recorded runs.
        findings
          .filter(({ remark }) => remark !== true && check !== "backtest")
          .flatMap(({ at, code, message, todo }) => [
            `  ${oneLine(formatAt(at), 250)} ${code}: ${oneLine(message, 400)}`,
            ...(todo === "" || message.includes(todo) ? [] : [`    ${oneLine(todo)}`]),
          ]),
        LISTED,
      ),
    ]),
  ];
}

const TEXT = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const HELD = /\uE000(\d+)\uE000/g;

const WORDS: [RegExp, string][] = [
  [/\?\./g, "."],
  [/\bconfig_get\(([^()]*)\)/g, "the setting $1"],
  [/\bnew Decimal\(([^()]*)\)(?=\.)/g, "$1"],
  [/\bnew Decimal\(([^()]*)\)/g, "$1 as an amount"],
  [/\bString\(([^()]*)\)/g, "$1 as a text"],
  [/\bNumber\(([^()]*)\)/g, "$1 as a number"],
  [/([\w.[\]]+)\.includes\(([^()]*)\)/g, "$1 contains $2"],
  [/([\w.[\]]+)\.startsWith\(([^()]*)\)/g, "$1 begins with $2"],
  [/([\w.[\]]+)\.endsWith\(([^()]*)\)/g, "$1 ends with $2"],
  [/([\w.[\]]+)\.length\b/g, "the length of $1"],
  [/!(?=[\w(])/g, "not "],
  [/ !==? /g, " is not "],
  [/ ===? /g, " is "],
  [/ >= /g, " is at least "],
  [/ <= /g, " is at most "],
  [/ > /g, " is more than "],
  [/ < /g, " is less than "],
  [/ && /g, " and "],
  [/ \|\| /g, " or "],
  [/ \?\? /g, ", or without one "],
  [/(?<![\w.\]])([a-z_]\w*)\.([a-z_]\w*)\b(?![.([])/gi, "$2 of $1"],
];
/** A call of a function; the script's author chose its name, so its words are quoted. */
const CALL = /(?<![\w.\]$]|new )(!?)([a-z_$][\w$]*)\(([^()]*)\)/gi;
const HOLDS = /^(?:is|has|can|may|must|needs|was|should) /;
/** `invoices.filter((one) => one.days > 90)`, and the other methods that test each item of a list. */
const EACH = /([\w.\]]+)\.(filter|find|some|every)\(\(?(\w+)(?:: \w+)?\)? => ((?:[^(){}]|\([^(){}]*\))+)\)(?![.[?])/g;
const ASKED = { filter: "$ where ", find: "the first of $ where ", some: "for one of $: ", every: "for every one of $: " };

function called(code: string): string {
  const next = code.replace(CALL, (whole, not: string, name: string, args: string) => {
    if (WORDS.some(([what]) => whole.replace(what, "") === not)) return whole;
    const words = name
      .replace(/(?<=[a-z\d])[A-Z]/g, " $&")
      .replaceAll("_", " ")
      .trim()
      .toLowerCase();
    const given = args.trim().replace(/,\s*/g, " and ");
    if (!HOLDS.test(words)) return `${not}“${words}”${given === "" ? "" : ` of ${given}`}`;
    return `“${words}” ${not === "" ? "holds" : "does not hold"}${given === "" ? "" : ` for ${given}`}`;
  });
  return next === code ? code : called(next);
}

const CHOICE = /^([^?:]+) \? ([^?:]+) : (.+)$/;

function said(code: string): string {
  const [, when, one, other] = CHOICE.exec(code.replaceAll("?.", ".")) ?? [];
  if (when !== undefined && one !== undefined && other !== undefined) return `${said(one)} if ${said(when)}, else ${said(other)}`;
  return WORDS.reduce((text, [what, words]) => text.replace(what, words), called(code));
}

/** The line with its code replaced by words. */
export const inWords = (line: string): string =>
  line.replace(/‹([^›]*)›?/g, (_, code: string) => {
    const texts: string[] = [];
    const bare = code
      .replace(TEXT, (text) => `\uE000${texts.push(text) - 1}\uE000`)
      .replace(EACH, (_all, list: string, how: keyof typeof ASKED, name: string, asks: string) => {
        const of = (text: string) => text.replace(new RegExp(`(?<![\\w.])${name}\\.(?=\\w)`, "g"), "");
        return ASKED[how].replace("$", () => list) + of(asks).replace(new RegExp(`(?<![\\w.])${name}(?!\\w)`, "g"), "it");
      });
    // Other functions and objects cannot be put into words.
    if (/=>|\{|\bfunction\b/.test(bare)) return code;
    return said(bare).replace(HELD, (_whole, n: string) => texts[Number(n)] ?? "");
  });
