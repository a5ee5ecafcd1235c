/**
 * The one error class, the one table of codes, and the two translations (to and from JSON).
 * Errors are data with a code: they cross the sandbox door, the store and the socket, so no code may match on class or text.
 * Every code has exactly one row here; docs/ERRORS.md is generated from it.
 * Size: the table is one list, so that a code is looked up in one place.
 */

export type ErrorKind = "script" | "input" | "policy" | "external" | "divergence" | "internal";

/** A place in a file that a person can open: `file:line:col`, line and column starting at 1. */
export interface At {
  file: string;
  line?: number;
  col?: number;
  /** The line itself, where the file on disk may be another by now. */
  text?: string;
}

/** The JSON form of an error, the same in a history, on the socket and on the wire. */
export interface WireError {
  code: string;
  message: string;
  data?: Record<string, unknown>;
  at?: At;
}

interface CodeRow {
  kind: ErrorKind;
  /** What went wrong, in one sentence. */
  means: string;
  /** What to do next. */
  remedy: string;
}

function rows<K extends string>(kind: ErrorKind, table: Record<K, readonly [means: string, remedy: string]>): Record<K, CodeRow> {
  const entries = Object.entries<readonly [string, string]>(table).map(([code, [means, remedy]]) => [code, { kind, means, remedy }]);
  return Object.fromEntries(entries) as Record<K, CodeRow>;
}

/** Every code Cleared can raise, each with what went wrong and what to do next. Never renamed, never reused. */
export const CODES = {
  ...rows("script", {
    SCRIPT_SYNTAX: ["The script is not valid TypeScript.", "Correct the line shown."],
    SCRIPT_LANGUAGE: ["The script uses something outside the language subset.", "Use the construct the message names instead."],
    SCRIPT_UNKNOWN_NAME: ["The script uses a name that is neither declared nor a primitive.", "Use the suggested name, or declare it."],
    SCRIPT_UNKNOWN_KEY: ["A primitive is called with a key it does not have.", "Use the suggested key; docs/PRIMITIVES.md lists all keys."],
    SCRIPT_CAPABILITY: ["A primitive's domain is not in the script's `uses:`.", "Add it to `uses:` in the header, or drop the call."],
    SCRIPT_MONEY: ["An operator is used on money, which is text or a Decimal.", "Use .plus, .minus, .times, .div, .lt, .gt or .eq."],
    SCRIPT_PLANNED: [
      "After a gate the script uses an amount as it planned it, which a person may have changed.",
      "Take the amount from the calls that approval_wait, or the script that asks, returns.",
    ],
    CHECK_HIDDEN_BRANCH: [
      "An action depends on a date or value that test runs are unlikely to reach.",
      "Ask a person there with approval_wait, or keep the value in config.yaml `settings:`; a remark requires no change.",
    ],
    SCRIPT_TYPES: ["The type checker found an error in the script.", "Correct the line shown."],
    SCRIPT_HEADER: ["The header comment of the script cannot be read.", "Write YAML in the first block comment, with the listed keys."],
    SCRIPT_TOO_LARGE: ["The script is larger than the limit.", "Split shared logic into scripts/ and call script_run."],
    SCRIPT_ERROR: ["The script threw an error while running.", "Look at the line shown; `cleared runs show` lists the steps before it."],
    SCRIPT_RESULT: [
      "The script's result or a call's parameter is not plain JSON.",
      "Return objects, lists, text, numbers, booleans or null; the message names the path.",
    ],
    SCRIPT_MISSING: ["No script of that name exists at this commit.", "Check the name in agents/ or scripts/ and commit the file."],
    LIMIT_CPU: ["The script used more CPU time than its limit.", "Look for an endless loop, or raise limits.cpu_ms in trust.yaml."],
    LIMIT_WALL: [
      "The script did not answer in time and its sandbox was killed.",
      "Look for an endless loop or a huge allocation; raise limits.cpu_ms in trust.yaml if the work is real.",
    ],
    LIMIT_MEMORY: ["The script used more memory than its limit.", "Work in batches, or raise limits.memory_mb in trust.yaml."],
    LIMIT_CALLS: ["The script made more calls than its limit.", "Use the *_many primitives, or raise limits.calls in trust.yaml."],
    LIMIT_BYTES: [
      "A call, an answer or the whole run moved more bytes than its limit.",
      "Work in batches; limits.call_bytes, answer_bytes and total_bytes are in trust.yaml.",
    ],
    LIMIT_DEPTH: ["The script recursed too deep or built data nested too deep.", "Use a loop, or flatten the data."],
    COMPUTE_TOOL: [
      "A file in scripts/tools/ is not a valid tool, or the tool failed while computing.",
      "Correct the line shown; `cleared tools test` tries the tool with its cases.",
    ],
    SANDBOX_CRASHED: ["The script's sandbox process died.", "Run it again; if it dies again, look for huge allocations or deep nesting."],
  }),
  ...rows("input", {
    LLM_UNCONFIGURED: ["A model is needed but not configured.", "Add the setting the message names, then run `cleared models test`."],
    USAGE: ["The command line is not understood.", "See `cleared --help`."],
    PARAMS_INVALID: ["A primitive got parameters of the wrong shape.", "Correct the parameter named; docs/PRIMITIVES.md shows each shape."],
    PRIMITIVE_UNKNOWN: ["No primitive of that name exists.", "Use the name the message suggests; docs/PRIMITIVES.md lists them all."],
    RUN_INPUT: ["The input of the run does not fit the header's `input:`.", "Correct the field the message names."],
    RUN_KEY: ["The key of a run was used before, with other input.", "Use a new key for a different matter."],
    AGENT_UNKNOWN: ["No agent of that name exists at HEAD of the configured branch.", "`cleared agents` lists them; commit new files."],
    AGENT_DEPTH: ["Agents call each other too deeply.", "Let one agent call the others, or start them by an event."],
    RUN_UNKNOWN: ["No run has that id.", "`cleared runs` lists them."],
    HISTORY_GONE: [
      "The history of the run is no longer stored, or this repository does not have it.",
      "What the run committed is in git; a clone or a backup of refs/cleared/runs/ may have the history.",
    ],
    CARD_UNKNOWN: ["No open card has that number.", "`cleared queue` lists the open ones."],
    CARD_CLOSED: ["The card has been decided already.", "`cleared queue --all` shows who decided and when."],
    CARD_CHANGED: ["The card has changed since it had that name.", "Look at it again, then decide it by the name it has now."],
    TASK_UNKNOWN: ["This caller has no task with that id.", "Use the token that the task was sent with."],
    TASK_STATUS: ["The task's state does not allow this.", "Read the task; a new message without its id starts another one."],
    TASK_LIMIT: [
      "A caller over A2A has reached its limit of running or stored tasks.",
      "Wait as long as Retry-After says; the limits are in config.yaml under callers, as committed.",
    ],
    TASK_REQUEST: ["An A2A request does not follow the protocol.", "Correct what the message names; the agent card lists what is offered."],
    RUN_STATUS: ["The run's status does not allow this.", "`cleared runs show` shows its status."],
    RUN_WAITS: [
      "The run waits for a person to do something first.",
      "Do what the message names; the run then continues automatically under `cleared start`, otherwise with the next command.",
    ],
    WORKSPACE_MISSING: ["This folder is not a workspace.", "Make one with `cleared init DIR`, or change into one."],
    WORKSPACE_EXISTS: ["The folder for a new workspace is not empty.", "Choose an empty or new folder."],
    CONFIG_INVALID: ["config.yaml or trust.yaml has a wrong key or value.", "Correct the line shown; the starter files explain each key."],
    CONFIG_MISSING: [
      "config_get was asked for a key that config.yaml does not have.",
      "Add the key to config.yaml and commit it, or correct the script.",
    ],
    FILE_MISSING: ["The file does not exist.", "Check the name; statements are relative to import/, other files to the current folder."],
    FILE_INVALID: ["The path is not a file that may be used here.", "Use a regular file, in the place the message names."],
    FILE_UNFINISHED: [
      "The file is still being written: its content is changing, or a program has it open for writing.",
      "Wait until the download or copy has ended, then import it again.",
    ],
    FILE_TOO_LARGE: ["The file is larger than the limit.", "Split it: statements have at most 64 MiB, data files 1 MiB, scripts 1 MB."],
    STATEMENT_DIALECT: [
      "No dialect reads this statement.",
      "Add a dialect in importers/, or name one in config.yaml under statements:, and commit it.",
    ],
    STATEMENT_ENCODING: ["The statement's encoding is not the one its dialect names.", "Use UTF-8, or set encoding: in the dialect."],
    STATEMENT_INVALID: ["The statement cannot be read as the format it claims to be.", "Export it again; the message shows the line."],
    STATEMENT_ROW: [
      "A row of a statement is refused; others are not affected.",
      "Correct the row in a new export, or how it is read in the dialect or mapping; or decide its card.",
    ],
    STATEMENT_BALANCE: [
      "The balances of a statement do not agree with its rows.",
      "Compare it with the bank's page; a row is missing, doubled or read with the wrong sign.",
    ],
    STATEMENT_ACCOUNT: [
      "The account of the statement is not known.",
      "Answer its card and approve the proposal of that, or add it under statements: in config.yaml and commit that.",
    ],
    JOURNAL_UNBALANCED: ["The legs of an entry do not add up to zero.", "Correct the amounts; the message shows the difference."],
    JOURNAL_LEG: ["A leg needs either a debit or a credit, with a positive amount.", "Give each leg exactly one positive amount."],
    JOURNAL_AMOUNT: ["An amount is not an exact decimal text.", 'Write amounts as text such as "42.99", without any other signs.'],
    JOURNAL_DATE: ["A date is not a real calendar day, or lies outside its month's file.", "Write dates as YYYY-MM-DD."],
    JOURNAL_KEY: ["An entry has neither a known reference nor a key.", "Pass the row's `reference`, or a stable `key`."],
    JOURNAL_ENTRY_MISSING: ["No entry has that id.", "Ids are in journal/ and on the cards of `cleared queue`; scripts use journal_query."],
    JOURNAL_STATUS: [
      "The entry's status does not allow this change.",
      "Cards decide entries that wait, and `cleared correct` moves booked ones; no other entry changes its account.",
    ],
    JOURNAL_ASSERTION: ["A balance assertion in the books fails.", "Compare it with the bank; `cleared verify` shows the difference."],
    JOURNAL_FORM: ["The journal text is not in the canonical form.", "`cleared verify` shows the line; restore it from git or correct it."],
    JOURNAL_ROW_GONE: [
      "Rows that a statement's receipt says are booked are not in the books.",
      "`cleared revive FILE` with the name of the statement books them again; with --leave-out they stay out.",
    ],
    JOURNAL_DUPLICATE: ["Two entries carry the same id.", "Remove the copy; `cleared verify` shows both lines."],
    ACCOUNT_UNKNOWN: [
      "No account has that number or name.",
      "Use an account of main.journal, by its number or whole name, or add it there as the others are and commit that: only what is committed counts.",
    ],
    CASE_INVALID: ["Invalid case file.", "Restore the line that is shown from git; a case is written by `cleared cases add`, not by hand."],
    CASE_UNKNOWN: ["No case has that name.", "`cleared cases` lists them."],
    CASE_IMPOSSIBLE: ["No case can be made from this run.", "Choose another run that shows the same; the message says what is missing."],
    CASE_BROKEN: [
      "The new code breaks something that a case protects, or does worse on its run.",
      "Correct the script; if the case is no longer right, retire it in a proposal of its own, with a reason.",
    ],
    CASE_UNTRIED: [
      "It cannot be determined whether a case holds: its recording is not here, or does not answer what the new code asks.",
      "Fetch the recorded runs, or try the change where they were made; else decide without this case.",
    ],
    BACKTEST_WORSE: [
      "A recorded run does worse, or fails, with the new code.",
      "Look at the run and the first different step; correct the script, or propose with --despite and the reason.",
    ],
    CLAIM_WRONG: ["A claim about a change is not true.", "Correct the claim, or the change; the message shows what was computed."],
    CLAIM_MISSING: ["A change includes a widening that none of its claims names.", "Name it in a claim, or leave it out of the change."],
    PROPOSAL_PATH: [
      "A proposal touches a path that proposals may not change.",
      "Leave it out; agents/, scripts/, policies/, importers/, knowledge/, cases/ and config.yaml are changed by proposals, the rest by plain git.",
    ],
    PROPOSAL_EMPTY: [
      "There is nothing to propose.",
      "Edit a file of agents/, scripts/, policies/, importers/, knowledge/, cases/ or config.yaml first, or name a branch or folder.",
    ],
    ASK_UNKNOWN: ["There is no request with this number, or it cannot be continued.", "`cleared asks` lists them."],
    PROPOSAL_UNKNOWN: ["No readable proposal has that number or id.", "`cleared proposals` lists them."],
    PROPOSAL_STATE: ["The proposal's state does not allow this.", "`cleared proposals show` shows its state."],
    UNDO_REFUSED: [
      "The change cannot be undone in its present state; nothing was changed.",
      "Do what the message names first, or revert single commits with plain git.",
    ],
    GIT_STATE: [
      "The repository is in a state that does not allow commits.",
      "Do what the message says; where it names git's own operation, finish or abort that.",
    ],
    WORKSPACE_CONFLICT: ["Someone else changed a file after the run read it.", "Start the run again; it will read the new content."],
    PLUGIN_INVALID: ["A plugin cannot be loaded.", "Correct the file the message names; `cleared doctor` lists plugins."],
    PAYROLL_ACCOUNT: [
      "A payment of a payroll has an account or an amount no bank would take.",
      "Correct the account the message names at its source, then start again.",
    ],
    COMPUTE_RANGE: ["A figure is outside the range of the formula.", "Correct the parameter named; docs/PRIMITIVES.md gives its unit."],
    COMPUTE_NO_ROOT: ["No rate of return fits these cash flows.", "Check their signs: payments are negative, receipts are positive."],
    COMPUTE_MANY_ROOTS: [
      "More than one rate of return fits these cash flows.",
      "Use compute_finance_npv, or compute_finance_newton_raphson with a guess near the expected one.",
    ],
    COMPUTE_UNITS: ["More units are sold than were bought.", "Correct the units, or add the opening stock to the purchases."],
    COMPUTE_TAX_TABLE: [
      "The tax bands of that country, year or scheme are not known.",
      "Use one the message names; primitives/compute/tax-tables.ts has them with their sources.",
    ],
    FSM_MACHINE: ["The agent's `states:` are not a valid state machine.", "Correct what the message names; see docs/ARCHITECTURE.md."],
    RECORD_UNKNOWN: ["A tool has no record with that id.", "Use the id the message suggests, or correct the record that names it."],
    REMOTE_UNKNOWN: ["trust.yaml has no external agent of that name.", "Use the suggested name, or add it under a2a: in trust.yaml."],
    TOOL_UNKNOWN: ["No tool of that name is offered.", "Use the name the message suggests; mcp_list shows what each server offers."],
    TOOL_ARGUMENTS: [
      "The arguments of a tool call do not fit the tool's schema; nothing was sent.",
      "Correct the field the message names; mcp_list shows each tool's schema.",
    ],
    SECRET_MISSING: ["A secret is missing, or cannot be read.", "Store it with `cleared secrets set NAME`."],
    NOTICE_CHANNEL: ["A notice names a channel that does not exist.", "Use page, smtp or a webhook named in trust.yaml under notices:."],
    NOTICE_ADDRESS: ["The recipient of a notice by mail is not a mail address.", "Write one address, such as ann@example.com."],
    POLICY_INVALID: [
      "A policy has a wrong key, condition, action or level.",
      "Correct the line shown; `cleared policy test` checks it before it is committed.",
    ],
    POLICY_UNKNOWN: ["No policy of that name exists in policies/.", "Use the name the message suggests, or add the file and commit it."],
    POLICY_CASE: ["A test case of a policy does not hold.", "Correct the rule, or the case; `cleared policy test` shows both."],
    POLICY_FACT: [
      "A script and the policy that judges it do not name the same facts.",
      "Give the fact one name in both: under facts: in policies/, and in the script's policy_evaluate.",
    ],
    HEADER_TRIGGER: ["The agent's trigger is incomplete.", "Add the key the message names to the header."],
  }),
  ...rows("policy", {
    LLM_UNSUPPORTED: [
      "A text that a model wrote contains figures it was not given, and the script tried to file, send or write it.",
      "Use the text only where llm_summarize returns an empty `unsupported`.",
    ],
    LLM_BUDGET: [
      "The budget for models is used up, or this call would exceed it.",
      "Wait for the next day, or raise models.budgets in config.yaml and commit it; `cleared costs` shows what was spent.",
    ],
    TOOL_REFUSED: ["A tool server's address is not allowed.", "Allow it in trust.yaml under addresses:, or name the server under mcp:."],
    TRUST_CHANGED: [
      "trust.yaml, or code that it names, has not been confirmed on this machine as it is now.",
      "Read what `cleared trust` shows, and confirm it there; in a script: `cleared trust --accept-trust`.",
    ],
    FOLDER_UNSAFE: ["Another user can write to a folder whose content must be trusted.", "Do what the message says, then try again."],
    JOURNAL_CLOSED: ["The entry lies in a closed period.", "Date the entry after the day in config.yaml `closed_through`."],
    RUN_PAUSED: [
      "A person has paused the agent, or all of them.",
      "Resume it with `cleared resume`; what arrived in the meantime starts then. `cleared run --dry-run` still works.",
    ],
    APPROVAL_REQUIRED: ["No approval covers an external call.", "Ask first: approval_wait({ title, calls: [{ tool, params }] })."],
    PRIVACY_REFUSED: [
      "A task asks for secrets, or a text contains data that config.yaml `privacy:` does not allow.",
      "Leave it out; secrets of tools are stored with `cleared secrets set NAME` and are never shown.",
    ],
    FSM_EDGE: [
      "The script asks for a state that does not follow the one it is in.",
      "Enter the state the message names; `cleared agents show NAME` draws the machine.",
    ],
    FSM_GATE: ["The script would act before the policy and a person have allowed it.", "Evaluate the policy and pass the gate named."],
    FSM_STATE: [
      "A call is not allowed in the state the run is in.",
      "Enter the state the message names first; `cleared agents show NAME` lists what each allows.",
    ],
    FSM_READ_ONLY: ["The run may only read, and the script would do more.", "Start it without --read-only, or end it before that call."],
    AMOUNT_UNTRACED: [
      "An amount that would be written was neither computed nor read.",
      "Compute it with a compute_* call, or read it in ASSESS; amounts never come from input or text alone.",
    ],
    AMOUNT_SUM: [
      "Amounts that belong together do not add up: debit and credit, parts and their total, net amount and deductions.",
      "Correct the calculation, or the amounts that were edited; the message shows both sides.",
    ],
    TEXT_INCOMPLETE: [
      "A text that would be shown or sent contains null or undefined: a value it is built from is missing.",
      "Fill in the record that the message names, or let the script handle its absence.",
    ],
    OUTPUT_INCOMPLETE: ["The answer lacks declared fields, or its sums do not add up.", "Return what the message names."],
    APPROVAL_EDIT: [
      "A change of the calls could raise or replace what the card was judged by, or adds what it did not ask about.",
      "Reject it, and start the run again.",
    ],
    APPROVAL_LEVEL: [
      "The person deciding does not hold the role the card requires.",
      "One of the people the message names must decide; roles are set in trust.yaml under people:.",
    ],
    APPROVAL_SELF: ["The person deciding started the run and may not approve it.", "Another person must decide; the message names them."],
    APPROVAL_IDENTITY: [
      "No key in this shell proves who is deciding.",
      "Decide as a person of trust.yaml whose key you have; `cleared doctor` says where it is.",
    ],
    TASK_TOKEN: [
      "A task has no token known here, and does not come from a program of this user.",
      "Make a token with `cleared tokens add` and send it as `Authorization: Bearer TOKEN`.",
    ],
    WEBHOOK_REFUSED: [
      "A webhook is not signed as trust.yaml requires, is too old, or was sent before.",
      "Sign `t.body` with the webhook's secret and send it at once, in X-Cleared-Signature.",
    ],
    WEB_REFUSED: ["A request to the status page did not come from the page.", "Open the page at the address `cleared start` prints."],
  }),
  ...rows("external", {
    REMOTE_DOWN: [
      "An external agent cannot be reached or does not answer; the message says whether it may have the task.",
      "Run it again later, correct its entry under a2a: in trust.yaml, or name a fallback.",
    ],
    REMOTE_TIMEOUT: [
      "An external agent did not finish in time.",
      "Give it more time (timeout, or timeout_ms in trust.yaml), or name a fallback; the message says whether it may still be working.",
    ],
    REMOTE_REFUSED: ["An external agent does not accept the request.", "See its own text; check its token and address in trust.yaml."],
    TOOL_FAILED: ["A tool answered with an error.", "The message carries the tool's own words."],
    LLM_DOWN: [
      "A model's server cannot be reached, or was too busy each time it was asked.",
      "Start the server, or correct its entry under models: in trust.yaml; `cleared models test` shows which models work.",
    ],
    LLM_LIMITED: ["A model's server accepts no more requests for now.", "Run it again after the time the message names."],
    LLM_LOST: ["A model did not answer in time, or its answer was cut off.", "Run it again, or raise its timeout_ms in trust.yaml."],
    LLM_REFUSED: [
      "A model's server refuses the request: the key, the model's name, or something in it.",
      "Correct the key or the name; `cleared models test` tries each part.",
    ],
    LLM_ANSWER: ["A model's server sent an unusable answer.", "Run it again, or give the role another model in config.yaml and commit it."],
    TOOL_DOWN: ["A tool server cannot be reached, or refused the call.", "Nothing happened. Start it, or correct its entry in trust.yaml."],
    TOOL_TIMEOUT: ["A tool did not answer in time.", "Run it again, or raise the server's timeout_ms in trust.yaml."],
    TOOL_LOST: [
      "A writing tool was called and its outcome is unknown; it is never sent a second time.",
      "Look at the target, then decide the card: it happened, or it did not.",
    ],
    TOOL_ANSWER: ["A tool server sent an unusable answer.", "Correct the server; the message shows how its answer begins."],
    GIT_FAILED: ["A git command failed.", "The message carries git's own output."],
    PLUGIN_FAILED: ["A plugin's primitive threw, hung or returned the wrong shape.", "Correct the plugin; the message carries its text."],
    PRIMITIVE_TIMEOUT: ["A primitive did not answer in time.", "Run it again; for an effect outside, the run asks a person first."],
    STORE_CORRUPT: ["The run store cannot be read.", "Move .cleared/store.db aside; the books are in git, waiting runs are in the copy."],
    STORE_FULL: ["The disk is full; nothing was recorded or committed.", "Free space; the run continues from its last recorded step."],
    STORE_VERSION: ["The run store was written by a newer version.", "Use that version, or a newer one."],
    PORT_BUSY: ["The port of the status page is in use.", "Choose another with `cleared start --port N`, or stop the program using it."],
    OWNER_BUSY: ["Another process owns this workspace.", "Use its status page or commands, which connect to it, or stop it first."],
    OWNER_FENCED: ["This process lost the workspace to another one.", "Nothing to do: the other process continues its runs."],
  }),
  ...rows("divergence", {
    HISTORY_DIVERGED: ["Script and history disagree at a step.", "Resume the run on its version, or cancel it."],
  }),
  ...rows("internal", { INTERNAL: ["A bug in Cleared.", "Report it with the message and `cleared doctor`."] }),
};

export type Code = keyof typeof CODES;

/** Exit code of the command line for each kind; 0 is success. */
export const EXIT: Record<ErrorKind, number> = { script: 1, input: 2, policy: 3, external: 4, divergence: 5, internal: 70 };

export class ClearedError extends Error {
  readonly code: Code;
  readonly data: Record<string, unknown> | undefined;
  at: At | undefined;

  constructor(
    code: Code,
    message: string,
    options: { data?: Record<string, unknown> | undefined; at?: At | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ClearedError";
    this.code = code;
    this.data = options.data;
    this.at = options.at;
  }

  get kind(): ErrorKind {
    return CODES[this.code].kind;
  }
}

/** Kind of a code, which may come from an older or newer version: an unknown code counts as internal. */
export const kindOf = (code: string): ErrorKind => (Object.hasOwn(CODES, code) ? CODES[code as Code].kind : "internal");

// Errors of the operating system about a path that the person at the machine has to resolve.
const PATH_ERRORS = /^(?:EACCES|EPERM|EROFS|EISDIR|ENOTDIR|ELOOP|ENAMETOOLONG)$/;
const DISK_FULL = /^(?:ENOSPC|EDQUOT)$/;

/** JSON form of anything thrown. Errors that are not ours become INTERNAL with their text. */
export function toWire(error: unknown): WireError {
  if (error instanceof ClearedError) {
    return {
      code: error.code,
      message: error.message,
      ...(error.data === undefined ? {} : { data: error.data }),
      ...(error.at === undefined ? {} : { at: error.at }),
    };
  }
  const { code = "", path } = error instanceof Error ? (error as Error & { code?: unknown; path?: unknown }) : {};
  if (typeof path === "string" && PATH_ERRORS.test(String(code)))
    return { code: "FILE_INVALID", message: `${path} cannot be used (${String(code)}). Give this user access to it, or move it away.` };
  if (DISK_FULL.test(String(code)))
    return { code: "STORE_FULL", message: `The disk is full: ${String(path ?? "a file")} was not written. Free space, then try again.` };
  return { code: "INTERNAL", message: error instanceof Error ? error.message : String(error) };
}

/** The error a wire form stands for; unknown codes become INTERNAL and keep their code in `data.code`. */
export function fromWire(wire: WireError): ClearedError {
  const known = Object.hasOwn(CODES, wire.code);
  return new ClearedError(known ? (wire.code as Code) : "INTERNAL", wire.message, {
    data: known ? wire.data : { ...wire.data, code: wire.code },
    at: wire.at,
  });
}

/** For `catch`: answers `instead` for an error with one of these codes; throws any other error again. */
export const onCode =
  <T>(codes: Code | readonly Code[], instead: (error: ClearedError) => T) =>
  (error: unknown): T => {
    if (error instanceof ClearedError && [codes].flat().includes(error.code)) return instead(error);
    throw error;
  };

/** The same for every error of ours that is no bug. */
export const unlessInternal =
  <T>(instead: (error: ClearedError) => T) =>
  (error: unknown): T => {
    if (error instanceof ClearedError && error.kind !== "internal") return instead(error);
    throw error;
  };

/** The first finding as an error that carries all findings. */
export function findingError(findings: readonly { code: string; message: string; at: At }[], file: string): ClearedError {
  const [first] = findings;
  if (first === undefined) return new ClearedError("SCRIPT_SYNTAX", `${file} could not be compiled.`, { at: { file } });
  const error = fromWire({ code: first.code, message: first.message, at: first.at });
  return new ClearedError(error.code, first.message, { at: first.at, ...(findings.length > 1 ? { data: { findings } } : {}) });
}

/** `agents/x.ts:6:11`, `agents/x.ts:6` or `agents/x.ts`. */
export function formatAt(at: At): string {
  return [at.file, at.line, at.line === undefined ? undefined : at.col].filter((part) => part !== undefined).join(":");
}

/** The nearest allowed word, or undefined. A shared prefix beats edit distance (thresholds.auto -> thresholds.auto_confirm). */
export function nearest(word: string, allowed: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  for (const candidate of allowed) {
    const score = candidate.startsWith(word) ? 0.5 : prefixed(word, candidate);
    if (score < bestScore) [best, bestScore] = [candidate, score];
  }
  return bestScore <= Math.max(2.5, word.length / 3) ? best : undefined;
}

/** ` Did you mean "x"?` with a leading space, or nothing. */
export function didYouMean(word: string, allowed: Iterable<string>): string {
  const found = nearest(word, allowed);
  return found === undefined ? "" : ` Did you mean "${found}"?`;
}

/** The same, then all there are. */
export const amongThese = (word: string, names: readonly string[]): string =>
  `${didYouMean(word, names)} There are: ${names.join(", ") || "none"}.`;

/** A word that starts with a candidate is near it, but a longer candidate with two letters swapped is nearer. */
function prefixed(word: string, candidate: string): number {
  const distance = editDistance(word, candidate);
  return candidate.length > 3 && word.startsWith(candidate) ? Math.min(2.5, distance) : distance;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      current[j] = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
