/** `cleared policy test [FILE...]`: the cases in policy files, as the files are on disk. `policy show NAME`: the rules in words. */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { ClearedError, amongThese, formatAt } from "../../kernel/errors.ts";
import { print } from "../../rules/policy/condition.ts";
import type { Rule } from "../../rules/policy/verdict.ts";
import { POLICIES, policyFile } from "../../workspace/layout.ts";
import { readIfThere } from "../../workspace/own-folders.ts";
import { type Pack, failureOf, parsePack } from "../../workspace/settings/policies.ts";
import { readLocal } from "../../app/local.ts";
import type { Command } from "../invocation.ts";
import { caseLine } from "../text.ts";

const ACTS: Record<Rule["action"], string> = {
  inform: "adds a note",
  require_approval: "requires approval",
  escalate: "escalates",
  block: "blocks",
};

export const run: Command = async ({ output, dir }, [verb, ...names]) => {
  const ladder = readLocal(dir).config.policy;
  const packs = filesOf(dir, names).map((file) => parsePack(readIfThere(resolve(dir, file)) ?? "", file, ladder));
  for (const { at, message } of packs.flatMap((pack) => pack.warnings)) output.note(`${formatAt(at)} ${message}`);
  if (verb === "show") {
    output.result(
      packs.map(({ set, ...pack }) => ({
        ...pack,
        facts: Object.fromEntries(set.kinds),
        requester: set.requester,
        thresholds: set.thresholds,
        rules: inWords(set),
      })),
    );
    for (const { process, source, set } of packs) {
      output.line(`${output.bold(process)}  ${set.source}, ${source}`);
      for (const { id, when, does, description } of inWords(set)) output.text(`  ${id}: ${does} when ${when}\n    ${description}`);
      if (set.requester !== undefined) output.text(`  Not approved by whoever has the id that ${set.requester} gives: they requested it.`);
    }
    return 0;
  }
  if (verb === undefined) throw new ClearedError("USAGE", "Write `cleared policy test` or `cleared policy show`, with names if you like.");
  const results = packs.flatMap((pack) =>
    pack.cases.map((one) => {
      const { failure, verdict } = failureOf(one, pack, ladder);
      return { policy: pack.process, case: one.name, failure, verdict };
    }),
  );
  const failed = results.filter((one) => one.failure !== null).length;
  output.result({ passed: results.length - failed, failed, results });
  for (const one of results) output.line(caseLine(output, `${one.policy}: ${one.case}`, one.failure));
  output.line(`${results.length - failed} passed, ${failed} failed`);
  return failed > 0 ? 1 : 0;
};

/** The rules in words: thresholds as values, with the name to change them by. */
export function inWords(set: Pack["set"]): { id: string; when: string; does: string; description: string }[] {
  return set.rules.map((rule) => ({
    id: rule.id,
    when: print(rule.when).replace(
      /\[?threshold\.([\w.-]+)\]?/g,
      (_, name: string) => `${JSON.stringify(set.thresholds[name])} (threshold ${name})`,
    ),
    does: [
      `${ACTS[rule.action]}${rule.level === null ? "" : ` (${rule.level})`}`,
      ...(rule.approvals > 1 ? [`of ${rule.approvals} people`] : []),
      ...(rule.distinct_from_requester ? ["not by the requester"] : []),
    ].join(", "),
    description: rule.description,
  }));
}

/** Files by path or by the policy's name; all of policies/ by default. @throws POLICY_UNKNOWN */
function filesOf(dir: string, names: readonly string[]): string[] {
  const folder = join(dir, POLICIES);
  const there = existsSync(folder) ? readdirSync(folder) : [];
  const all = there.filter((file) => file.endsWith(".yaml")).sort();
  if (names.length === 0) return all.map((file) => `${POLICIES}${file}`);
  return names.map((name) => {
    const found = [name, policyFile(name)].find((file) => file.endsWith(".yaml") && existsSync(resolve(dir, file)));
    if (found !== undefined) return found;
    const known = all.map((file) => file.slice(0, -5));
    throw new ClearedError("POLICY_UNKNOWN", `There is no policy "${name}".${amongThese(name, known)}`);
  });
}
