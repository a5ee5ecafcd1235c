/** The state lists of spec/worker.md 3.1, column R. `+`: R adds this state to what the vectors have. `?`: may be skipped after a pass. */
import type { State } from "../../runtime/kernel/ports.ts";
import { type Machine, machineOf } from "../../runtime/kernel/states.ts";

const LISTS: Record<string, string> = {
  expense_approval: "De As Co Po Ap Mu +Sn Cm",
  procurement: "De As Co Po Ap Mu Sn Cm",
  hr_offboarding: "De As Po Ap? Mu Sn Cm",
  incident_response: "De As Co +Po Ap Mu Sn Cm",
  invoice_reconciliation: "De As Co Po Ap? Mu Cm",
  customer_onboarding: "De As +Po Ap? Mu Sn Cm",
  compliance_audit: "De As Co Po Ap Mu Sn Cm",
  dispute_resolution: "De As +Co Po Ap Mu +Sn Cm",
  order_management: "De As Co +Po Ap Mu Cm",
  sla_breach: "De As Co Po Ap? Mu Sn Cm",
  month_end_close: "De As Co Po Ap Mu +Sn Cm",
  ar_collections: "De As Co Po Ap? Mu Sn Cm",
  subscription_migration: "De As Co Po Ap Mu +Sn Cm",
  payroll: "De As Co Po Ap Mu Sn Cm",
  general: "De As +Co Po Ap? Mu +Sn Cm",
};

const NAMES: Record<string, State> = {
  De: "DECOMPOSE",
  As: "ASSESS",
  Co: "COMPUTE",
  Po: "POLICY_CHECK",
  Ap: "APPROVAL_GATE",
  Mu: "MUTATE",
  Sn: "SCHEDULE_NOTIFY",
  Cm: "COMPLETE",
};

export interface Template {
  machine: Machine;
  /** States the vectors' list of this process lacks, by 3.1 (R). */
  added: ReadonlySet<State>;
}

export const TEMPLATES: ReadonlyMap<string, Template> = new Map(
  Object.entries(LISTS).map(([process, list]) => {
    const words = list.split(" ");
    const stateOf = (word: string): State => NAMES[word.replace(/[+?]/g, "")]!;
    const machine = machineOf(words.map((word) => ({ state: stateOf(word), line: "", conditional: word.endsWith("?") })));
    return [process, { machine, added: new Set(words.filter((word) => word.startsWith("+")).map(stateOf)) }] as const;
  }),
);
