/**
 * The one question run.ts asks before a call: may this run make it now? Capabilities from the header's `uses:`, and for calls that
 * act outside a decided approval that covers exactly this call. Approvals are counted: each approved call may be made once.
 */
import { ClearedError } from "../errors.ts";
import type { Call, Json, Step } from "../ports.ts";
import type { Primitive } from "../primitive.ts";

/** What a run has earned and spent so far; rebuilt from the history, so it survives a kill. */
export interface RunState {
  /** Domains of the header's `uses:`. */
  uses: readonly string[];
  /** Approved calls not yet made, as canonical text. */
  approved: string[];
  /** True once a person said no at a gate. */
  rejected: boolean;
  approvedBy: string[];
}

export function newRunState(uses: readonly string[]): RunState {
  return { uses, approved: [], rejected: false, approvedBy: [] };
}

/** Counts a recorded step, live or on resume. A call that only has an intent has spent its approval too. */
export function fold(state: RunState, step: Step, primitive: Primitive | undefined): void {
  for (const change of step.changes) {
    if (change.op !== "decided") continue;
    state.approved.push(...change.calls.map((call) => canonical(call)));
    if (change.decision === "rejected") state.rejected = true;
    else if (!state.approvedBy.includes(change.by)) state.approvedBy.push(change.by);
  }
  if (primitive !== undefined && needsApproval(primitive)) spend(state, { tool: step.name, params: JSON.parse(step.params) as Json });
}

/** Null when the call may be made, else the error the script gets. */
export function allowed(primitive: Primitive, params: Json, state: RunState): ClearedError | null {
  if (!state.uses.includes(primitive.domain)) {
    return new ClearedError(
      "SCRIPT_CAPABILITY",
      `${primitive.name} is in the domain "${primitive.domain}", which the header does not name. Write uses: [${[...state.uses, primitive.domain].join(", ")}].`,
    );
  }
  if (needsApproval(primitive) && !state.approved.includes(canonical({ tool: primitive.name, params }))) {
    return new ClearedError(
      "APPROVAL_REQUIRED",
      `${primitive.name} acts outside, and no decided approval covers exactly this call. Ask first: approval_wait({ title, calls: [{ tool: "${primitive.name}", params }] }), then call it with the same parameters, once.`,
      { data: { tool: primitive.name, params } },
    );
  }
  return null;
}

function needsApproval(primitive: Primitive): boolean {
  return primitive.effect === "external";
}

function spend(state: RunState, call: Call): void {
  const index = state.approved.indexOf(canonical(call));
  if (index >= 0) state.approved.splice(index, 1);
}

function canonical(call: Call): string {
  return canonicalJson([call.tool, call.params]);
}

/** JSON with sorted keys and no blanks: equal values are equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return `{${entries
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`)
      .join(",")}}`;
  }
  return JSON.stringify(value);
}
