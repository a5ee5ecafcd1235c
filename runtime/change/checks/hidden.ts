/**
 * Acts that depend on a date or on one odd value (scripts/guards.ts). A dry run is unlikely to reach them, so a person is told. An act outside that the
 * script makes nowhere else, and that it asks nobody for, keeps the change from passing: what it waits for belongs into config.yaml, where
 * everybody sees it, or behind a question.
 */
import type { Registry } from "../../kernel/registry.ts";
import type { Found } from "./findings.ts";
import type { ScriptToCheck } from "./script.ts";
import { type ToolClassOf, accessOf } from "./states.ts";

/** Findings CHECK_HIDDEN_BRANCH. scripts: the agent first, with all it calls. */
export function lintHidden(scripts: readonly ScriptToCheck[], registry: Registry, toolClass: ToolClassOf): Found[] {
  /** Names of what a call, or the sub-script it runs, does; and whether it asks. */
  const actsOf = (calls: readonly ScriptToCheck["calls"][number][], seen: readonly string[] = []): Act[] =>
    calls.flatMap((call) => {
      if (!registry.has(call.name)) return [];
      const primitive = registry.get(call.name);
      const { rows } = accessOf(primitive, call.given, toolClass);
      const sub = scripts.find(({ name }) => name !== "" && (name === call.given[""] || name === call.given["name"]));
      if (call.name === "script_run" && sub !== undefined && !seen.includes(sub.name)) return actsOf(sub.calls, [...seen, sub.name]);
      const kind = rows.find((row) => row === "external" || row === "notify" || row === "write" || row === "ask");
      return kind === undefined ? [] : [{ kind, name: call.given["tool"] ?? call.name }];
    });
  return scripts.flatMap(({ calls, guards = [] }) =>
    guards.flatMap(({ at, on, calls: inside }): Found[] => {
      const acts = actsOf(inside.flatMap((index) => calls[index] ?? []));
      const told = acts.filter(({ kind }) => kind !== "ask");
      if (told.length === 0) return [];
      const others = actsOf(calls.filter((_, index) => !inside.includes(index))).map(({ name }) => name);
      const hidden = told.filter(({ kind, name }) => kind === "external" && !others.includes(name));
      const blocks = hidden.length > 0 && !acts.some(({ kind }) => kind === "ask");
      const names = [...new Set((blocks ? hidden : told).map(({ name }) => name))].join(", ");
      const message = blocks
        ? `${names} is called only if this holds, which depends on ${on}. Ask a person there with approval_wait, or keep the value in config.yaml settings: and read it with config_get.`
        : `Whether ${names} is called depends on ${on}.`;
      return [{ code: "CHECK_HIDDEN_BRANCH", at, message, ...(blocks ? {} : { remark: true }) }];
    }),
  );
}

interface Act {
  kind: "external" | "notify" | "write" | "ask";
  name: string;
}
