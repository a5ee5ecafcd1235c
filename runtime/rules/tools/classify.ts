/**
 * What a tool may do: read, compute or mutate (spec/worker.md 6.3). One function and one list, used by the gate, the verifier and the
 * linter. The name is only the fallback; a tool that it does not prove harmless counts as a write.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { ToolClass, ToolInfo } from "../../kernel/ports.ts";

export interface ToolHints {
  /** `class` of the tool in trust.yaml. */
  declared?: ToolClass | undefined;
  /** Annotations of the MCP server; they make a tool less dangerous only when the server is trusted. */
  annotations?: { readOnlyHint?: boolean | undefined; destructiveHint?: boolean | undefined } | undefined;
  trusted: boolean;
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Verbs that change something; `spec/worker.md` 6.1 and 14, without those that also begin reads. */
export const WRITE_VERBS = words(`
  acknowledge activate add adjust alert amend append apply appoint approve archive assign authorize await blacklist book bump buy cancel
  certify change charge clear close commit complete confirm copy create credit deactivate debit decline delete demote deny deploy
  deprovision deregister disable disburse disenroll dispatch dispute document draft drop edit email enable enroll erase escalate exchange
  execute export extend file finalize fire flag flush forward freeze grant hold import initiate insert invalidate invite invoke issue link
  lock lodge log make mark match merge message migrate modify move mute notify offboard onboard open order override overwrite page park
  patch pause pay place post process promote provision publish purchase purge push put quarantine raise reactivate reassign rebook
  reconcile record redeem refund regenerate register reinstate reject release remediate remove rename renew reopen replace request require
  reschedule reset resolve restore resume return reverse revert revoke rollback rotate schedule sell send set settle ship sign signoff split
  start stop store submit suspend swap sync tag terminate transfer trigger unassign unfreeze unlink unlock unmark unsubscribe untag update
  upload upsert void waive whitelist wipe withdraw write`);

const COMPUTE_VERBS = words("calculate compute estimate");

/** Verbs that both lists of 6.1 call harmless, and sum and aggregate (6.2). `report`, `review`, `audit`, `test` also begin acts: `report_fraud`. */
const READ_VERBS = words(`
  get list fetch read search find query check verify lookup describe show preview validate inspect count sum aggregate filter compare
  retrieve view browse`);

/** Undecided alone; the object decides (`run_credit_check`). */
const GENERIC_VERBS = words("run generate perform produce");

const READ_SUFFIXES = words(
  "test report check analysis assessment review audit diagnostic estimate forecast projection comparison simulation preview",
);

/** Acts whose names are not nouns: `list_unsubscribe`, `query_execute`. An order, a refund or a record can be read. */
const ACTS = words(`activate append approve assign cancel create deactivate delete disable enable enroll erase execute insert modify
  notify overwrite purge remove replace revoke send submit suspend terminate unsubscribe update upsert wipe write`);

/** Acts after a conjunction; elsewhere they are nouns: `get_pay_run`, `list_mail`. */
const OFTEN_NOUNS = words("mail pay provision");

const CONJUNCTIONS = words("or and then plus with");

/** `getOrder`, `get-order`, `Get_Order` -> get, order. */
export function nameWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** One spelling for names with the same words: pageToken, page-token -> page_token. */
export const spelled = (name: string): string => nameWords(name).join("_");

/** What trust.yaml declares about a server, as far as it affects the classes of its tools. */
export interface Declared {
  trusted: boolean;
  tools: Readonly<Record<string, { class?: ToolClass | undefined; verify?: { read: string } | undefined } | undefined>>;
}

/** The class that trust.yaml gives a tool: its own, or read for a tool that verifies others. */
function declaredIn({ tools }: Declared, name: string): ToolClass | undefined {
  const own = Object.hasOwn(tools, name) ? tools[name]?.class : undefined;
  return own ?? (Object.values(tools).some((one) => one?.verify?.read === name) ? "read" : undefined);
}

/** Why a tool cannot be called before trust.yaml gives it a class: neither its name nor its server proves what it does. Null: it can be called. */
function lacksClass(server: Declared, name: string): string | null {
  return server.trusted || declaredIn(server, name) !== undefined ? null : "its server is not trusted, and trust.yaml gives it no class";
}

/** @throws TOOL_REFUSED */
export function assertClass(declared: Declared, { tool, server, name }: Pick<ToolInfo, "tool" | "server" | "name">): void {
  const why = lacksClass(declared, name);
  if (why !== null)
    throw new ClearedError(
      "TOOL_REFUSED",
      `${tool} cannot be called: ${why}. A person must add it to trust.yaml: mcp: {${server}: {tools: {${name}: {class: read}}}}, or compute, or mutate.`,
    );
}

/** Class of a tool of a server that trust.yaml names. */
export function classIn(server: Declared, name: string, annotations?: ToolHints["annotations"]): { class: ToolClass; why: string } {
  const why = lacksClass(server, name);
  if (why !== null) return { class: "mutate", why };
  return classify(name, { declared: declaredIn(server, name), annotations, trusted: server.trusted });
}

/** Class of a tool by its own name (without the server's), and the reason in words. */
export function classify(name: string, hints: ToolHints): { class: ToolClass; why: string } {
  const { declared, annotations, trusted } = hints;
  if (declared !== undefined) return { class: declared, why: "trust.yaml says so" };
  // A warning hint is believed from any server; a reassuring one only from a trusted server, and only without contradiction.
  if (annotations?.destructiveHint === true || annotations?.readOnlyHint === false)
    return { class: "mutate", why: annotations.destructiveHint === true ? "its server calls it destructive" : "its server says it writes" };
  if (trusted && annotations?.readOnlyHint === true) return { class: "read", why: "its trusted server says it only reads" };
  return byName(name);
}

function byName(name: string): { class: ToolClass; why: string } {
  const [verb = "", ...rest] = nameWords(name);
  const harmless = READ_VERBS.has(verb) || COMPUTE_VERBS.has(verb) || GENERIC_VERBS.has(verb);
  if (harmless && hidesWrite(rest)) return { class: "mutate", why: `its name joins "${verb}" with something else` };
  if (verb === "check" && (rest[0] === "in" || rest[0] === "out")) return { class: "mutate", why: `"check_${rest[0]}" changes a record` };
  if (WRITE_VERBS.has(verb)) return { class: "mutate", why: `its name begins with "${verb}"` };
  if (COMPUTE_VERBS.has(verb)) return { class: "compute", why: `its name begins with "${verb}"` };
  if (READ_VERBS.has(verb)) return { class: "read", why: `its name begins with "${verb}"` };
  const last = rest.at(-1) ?? "";
  if (GENERIC_VERBS.has(verb) && READ_SUFFIXES.has(last) && !rest.some((word) => WRITE_VERBS.has(word)))
    return { class: "read", why: `it makes a ${last}` };
  return { class: "mutate", why: "its name does not prove that it only reads" };
}

/** `fetch_delete`, `query_sql_execute`: an act; `get_or_x`, `check_and_release`: a conjunction after the verb, or before a verb that writes. */
function hidesWrite(rest: readonly string[]): boolean {
  const writes = (word = ""): boolean => WRITE_VERBS.has(word) || OFTEN_NOUNS.has(word);
  return rest.some((word, index) => ACTS.has(word) || (CONJUNCTIONS.has(word) && (index === 0 || writes(rest[index + 1]))));
}
