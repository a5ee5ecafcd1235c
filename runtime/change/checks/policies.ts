/**
 * The check of policies/: each pack, the cases written with its rules, and whether scripts give facts by the names that the rules use. Pure
 * functions over the candidate's tree.
 */
import { ableTo } from "../../engine/authority.ts";
import { type At, didYouMean } from "../../kernel/errors.ts";
import type { KnownKeys } from "../../kernel/ports.ts";
import { namesIn } from "../../rules/policy/condition.ts";
import { isCurrency } from "../../rules/tools/trace.ts";
import { readYaml } from "../../scripts/yaml-text.ts";
import { CONFIG, POLICIES, policyFile } from "../../workspace/layout.ts";
import { type Pack, failureOf, parsePack } from "../../workspace/settings/policies.ts";
import { type Found, findingsIn, type Looked, type Subject } from "./findings.ts";
import { type AgentScripts, readScripts } from "./read-scripts.ts";
import { configOf } from "./settings.ts";

/** Findings POLICY_INVALID, POLICY_CASE for a failed case, POLICY_UNKNOWN for a missing pack that a process needs, POLICY_FACT. */
export async function lookAtPolicies(subject: Subject): Promise<Looked> {
  const { tree, paths } = subject;
  const all = (await tree.list(POLICIES)).map(({ path }) => path).filter((path) => path.endsWith(".yaml"));
  // Levels come from the ladder in config.yaml, so another ladder is another policy.
  const files = paths.includes(CONFIG) ? all : all.filter((path) => paths.includes(path) || subject.also.includes(path));
  const { agents } = await readScripts(subject);
  const judged = judgedIn(agents, all);
  const findings = judged.flatMap(({ agent, at, packs }) =>
    packs.flatMap((pack): Found[] => {
      const message = `${agent} is judged by ${pack}, which does not exist. Add it, or name another policy.`;
      return pack === null || all.includes(pack) ? [] : [{ code: "POLICY_UNKNOWN", at, message }];
    }),
  );
  const { config } = await configOf(subject);
  if (config === null) return { says: `${CONFIG} cannot be read`, findings, skipped: true };
  const texts = new Map<string, string>();
  const packs = new Map<string, Pack>();
  for (const file of new Set([...files, ...judged.flatMap((one) => one.packs)])) {
    const text = file === null ? null : await tree.read(file);
    if (file === null || text === null) continue;
    texts.set(file, text);
    try {
      packs.set(file, parsePack(text, file, config.policy));
    } catch (error) {
      if (files.includes(file)) findings.push(...findingsIn(error, file));
    }
  }
  const placeOf = (file: string, path: (string | number)[]): At =>
    readYaml(texts.get(file) ?? "", { file, code: "POLICY_INVALID", maxLength: 262_144 }).at(path);
  let cases = 0;
  for (const file of files) {
    const pack = packs.get(file);
    if (pack === undefined) continue;
    findings.push(...pack.warnings.map(({ at, message }) => ({ code: "POLICY_INVALID", at, message, remark: true as const })));
    cases += pack.cases.length;
    for (const one of pack.cases) {
      const { failure } = failureOf(one, pack, config.policy);
      if (failure !== null)
        findings.push({ code: "POLICY_CASE", at: { file }, message: `The case "${one.name}" does not hold: ${failure}.` });
    }
    const { people } = subject.trust;
    const { requester } = pack.set;
    const unknown = requester === undefined ? [] : people.filter(({ ids = {} }) => Object.keys(ids).length === 0);
    if (unknown.length > 0) {
      const message = `Whoever has the id that ${requester} gives may not approve, and nothing tells ${unknown.map(({ name }) => name).join(", ")} from them, so two people must. Give each an id under ids: in trust.yaml, such as {erp: E-1002}; their name where they have none there.`;
      findings.push({ code: "APPROVAL_SELF", at: placeOf(file, ["requester"]), message, remark: true });
    }
    for (const [n, { id, level }] of pack.set.rules.entries()) {
      if (level === null || people.length === 0 || ableTo({ level }, people, config.policy).length > 0) continue;
      const message = `${id} asks for ${level}, and no one in trust.yaml can decide that: its runs would wait for ever. Give a person the role there, under people:, or name another level.`;
      findings.push({ code: "APPROVAL_LEVEL", at: placeOf(file, ["rules", n, "level"]), message, remark: true });
    }
    // A new pack may be committed before the agent it is for.
    if (judged.some((one) => one.packs.some((name) => name === file || name === null)) || (await subject.base.blob(file)) === null)
      continue;
    if (agents.some(({ scripts }) => scripts === null)) continue;
    const message = `No agent is judged by it: none is called so, has it as its process:, or names it in policy_evaluate. Rename it, or remove it.`;
    findings.push({ code: "POLICY_FACT", at: { file }, message, remark: true });
  }
  findings.push(
    ...factFindings(
      judged,
      (file) => packs.get(file) ?? null,
      (file, fact) => placeOf(file, fact === null ? ["requester"] : ["facts", fact]),
    ),
  );
  return { says: files.length === 0 ? "none is touched" : `${files.length} read, ${cases} cases`, findings };
}

/** A call at which an agent is judged. */
interface Judged {
  agent: string;
  at: At;
  /** Files of the packs that judge it; null for a computed name. */
  packs: (string | null)[];
  /** The facts it gives, if the source shows them. */
  facts: KnownKeys;
}

/** `all`: the existing packs. */
function judgedIn(agents: readonly AgentScripts[], all: readonly string[]): Judged[] {
  return agents.flatMap(({ header, scripts, agent }) => {
    const calls = (scripts ?? []).flatMap(({ calls }) => calls).filter(({ name }) => name === "policy_evaluate");
    return calls.map(({ given, keys, at, fields }): Judged => {
      const own = policyFile(header?.process ?? agent);
      const isNamed = keys?.includes("policy") === true;
      const named = isNamed ? given["policy"] : undefined;
      // The pack of its process applies in addition to the named one.
      const beside = !isNamed || header?.process !== undefined || all.includes(own) ? [own] : [];
      const packs = [...new Set([...(!isNamed ? [] : [named === undefined ? null : policyFile(named)]), ...beside])];
      return { agent, at, packs, facts: (keys === null ? undefined : fields?.["facts"]) ?? { keys: [], whole: false } };
    });
  });
}

/** Facts that a script gives and no policy declares, and facts that a rule uses and no script gives: neither has any effect. */
function factFindings(
  judged: readonly Judged[],
  packOf: (file: string) => Pack | null,
  placeOf: (file: string, fact: string | null) => At,
): Found[] {
  const found: Found[] = [];
  const nearest = (name: string, pack: Pack, given: readonly string[]) =>
    didYouMean(
      name,
      given.filter((one) => !pack.set.kinds.has(one)),
    );
  for (const { at, packs, facts } of judged) {
    const read = packs.map((file) => (file === null ? null : packOf(file)));
    if (read.includes(null)) continue;
    const kinds = read.flatMap((pack) => [...(pack?.set.kinds.keys() ?? []), pack?.set.requester ?? []].flat());
    // The currency of an amount is compared with the workspace's, declared or not.
    for (const name of facts.keys.filter((one) => !kinds.includes(one) && !isCurrency(one))) {
      const near = didYouMean(
        name,
        kinds.filter((one) => !facts.keys.includes(one)),
      );
      const message = `${packs.join(" and ")} declares no fact ${name}, so no rule judges by it.${near} Give it under the policy's name for it, or declare it there under facts:.`;
      found.push({ code: "POLICY_FACT", at, message });
    }
  }
  const pairs = judged.flatMap((one) => one.packs.flatMap((file) => (file === null ? [] : [{ ...one, file }])));
  for (const calls of Map.groupBy(pairs, ({ agent, file }) => `${file} ${agent}`).values()) {
    const { agent = "", file = "" } = calls[0] ?? {};
    const pack = packOf(file);
    if (pack === null || calls.some(({ facts }) => !facts.whole)) continue;
    const given = calls.flatMap(({ facts }) => facts.keys);
    // Giving no facts at all means that a person is always asked.
    if (given.length === 0) continue;
    const { requester } = pack.set;
    if (requester !== undefined && !given.includes(requester)) {
      const message = `${agent} never gives the fact ${requester}, so nobody knows who requested the case, and two people are asked.${nearest(requester, pack, given)} Give it there.`;
      found.push({ code: "POLICY_FACT", at: placeOf(file, null), message });
    }
    for (const name of pack.set.kinds.keys()) {
      const rules = pack.set.rules.filter(({ when }) => namesIn(when).includes(name)).map(({ id }) => id);
      if (rules.length === 0 || given.includes(name)) continue;
      const message = `${agent} never gives the fact ${name}, so ${rules.join(", ")} can never be decided for it, and a person is asked each time.${nearest(name, pack, given)} Use the name that policy_evaluate is given, or give it there: null where it is not known.`;
      found.push({ code: "POLICY_FACT", at: placeOf(file, name), message });
    }
  }
  return found;
}
