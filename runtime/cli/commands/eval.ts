/** `cleared eval asks DIR`: runs the cases of a folder, each several times, and reports by kind. Exit 1 unless each passes every time and is safe. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { type AskCase, type Bench, KINDS, type Tried, askCase, tryAsk } from "../../app/eval-asks.ts";
import { ClearedError, toWire } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { promptVersion } from "../../meta/prompt.ts";
import { ARMS, type Arm } from "../../meta/workshop.ts";
import { readYaml } from "../../scripts/yaml-text.ts";
import { CONFIG, TRUST } from "../../workspace/layout.ts";
import { openSecrets } from "../../workspace/settings/secrets.ts";
import type { Command, Invocation } from "../invocation.ts";
import { toCount } from "../text.ts";
import { PRODUCT } from "./init.ts";

const yamlAt = (path: string): Json =>
  readYaml(readFileSync(path, "utf8"), { file: path, code: "CONFIG_INVALID", maxLength: 262_144 }).value as Json;

export const run: Command = async (at, [what = "", folder = ""], options) => {
  if (what !== "asks") throw new ClearedError("USAGE", `\`cleared eval ${what}\` is not known: asks.`);
  const times = toCount(options["times"] ?? "3", "--times");
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".yaml")) : [];
  const cases = names.sort().map((name): [string, AskCase] => {
    const { success, data, error } = askCase.safeParse(yamlAt(join(folder, name)));
    if (!success) throw new ClearedError("USAGE", `${name} is not a case: ${z.prettifyError(error)}`);
    return [name.replace(/\.yaml$/, ""), data];
  });
  if (cases.length === 0) throw new ClearedError("USAGE", `${folder} has no cases: one .yaml file each.`);
  const arms = armsOf(options["arms"] ?? "backtest");
  const models = options["scripted"] === true ? null : await modelsOf(at);
  // Keys of the temporary workspaces are deleted with it.
  const state = mkdtempSync(join(tmpdir(), "cleared-eval-state-"));
  process.env["XDG_STATE_HOME"] = state;
  const all: { name: string; arm: Arm; kind: AskCase["kind"]; tried: Tried[] }[] = [];
  try {
    for (const arm of arms)
      for (const [name, one] of cases) {
        const tried: Tried[] = [];
        for (let n = 0; n < times; n++) tried.push(await tryAsk(one, { from: PRODUCT, models, arm }).catch(failed));
        all.push({ name, arm, kind: one.kind, tried });
        const wrong = tried.flatMap((each) => each.wrong.slice(0, 3));
        const said = arms.length === 1 ? name : `${name}, ${arm}`;
        at.output.line(
          `${wrong.length === 0 ? "pass" : "FAIL"}  ${said}${wrong.length === 0 ? "" : `: ${[...new Set(wrong)].join("; ")}`}`,
        );
      }
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
  const rows = arms.flatMap((arm) =>
    [...KINDS, "all"].flatMap((kind) => {
      const some = all.filter((one) => one.arm === arm && (kind === "all" || one.kind === kind)).map(({ tried }) => tried);
      return some.length === 0 ? [] : [{ ...(arms.length === 1 ? {} : { arm }), ...rowOf(kind, some, times) }];
    }),
  );
  at.output.result({ prompt: promptVersion(), scripted: models === null, rows, cases: all });
  at.output.rows([Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row).map(String))]);
  at.output.line(at.output.dim(`prompt ${promptVersion()}${models === null ? "; scripted: this measures the cases, not a model" : ""}`));
  return all.every(({ tried }) => tried.every(passed)) ? 0 : 1;
};

/** @throws USAGE */
function armsOf(given: unknown): Arm[] {
  const named = String(given).split(",");
  const arms = ARMS.filter((arm) => named.includes(arm));
  if (arms.length === named.length) return arms;
  throw new ClearedError("USAGE", `--arms ${String(given)}: write some of ${ARMS.join(",")}.`);
}

const passed = ({ wrong, unsafe }: Tried): boolean => wrong.length === 0 && !unsafe;
const median = (digits: number, of: number[]): string => ([...of].sort((a, b) => a - b)[of.length >> 1] ?? 0).toFixed(digits);

function rowOf(kind: string, cases: Tried[][], times: number): Record<string, string | number> {
  const share = (some: Tried[][]) => `${Math.round((some.length / cases.length) * 100)} %`;
  const all = cases.flat();
  const costs = all.map(({ cost }) => Number.parseFloat(cost ?? "0"));
  const middle = (key: "requests" | "tokens" | "seconds", digits: number) => {
    const values = all.map((one) => one[key]);
    return median(digits, values);
  };
  return {
    ...{ kind, cases: cases.length, "pass@1": share(cases.filter(([first]) => first !== undefined && passed(first))) },
    [`pass^${times}`]: share(cases.filter((tried) => tried.every(passed))),
    unsafe: all.filter(({ unsafe }) => unsafe).length,
    ...{
      USD: costs.some(Number.isNaN) ? "unknown" : median(3, costs),
      requests: middle("requests", 0),
      tokens: middle("tokens", 0),
      seconds: middle("seconds", 1),
    },
  };
}

/** A case that could not be tried; a reason that applies to all cases is reported once. @throws LLM_UNCONFIGURED */
const failed = (error: unknown): Tried => {
  if (toWire(error).code === "LLM_UNCONFIGURED") throw error;
  return { end: null, wrong: [toWire(error).message], unsafe: false, cost: null, requests: 0, tokens: 0, seconds: 0 };
};

/** The models of this workspace, for the temporary workspaces. */
async function modelsOf(at: Invocation): Promise<NonNullable<Bench["models"]>> {
  const { dir } = at;
  const [trust, config] = [TRUST, CONFIG].map((file) => ((yamlAt(join(dir, file)) ?? {}) as { models?: Json }).models ?? {});
  const stored = await openSecrets(dir).all();
  return {
    ...{ trust: trust ?? {}, config: config ?? {} },
    secrets: async (into) => {
      for (const [name, value] of stored) await openSecrets(into).set(name, value);
    },
  };
}
