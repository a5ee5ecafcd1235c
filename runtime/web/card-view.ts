/** A card for a decision: what it is about, the exact calls it would allow, and a form with two answers, a reason and editable fields. */
import { notRequester } from "../engine/authority.ts";
import { restatedBy } from "../engine/store/cards.ts";
import { callsOf, equalAmounts, isFilledIn, scalarsOf, titleOf } from "../rules/edits.ts";
import type { Account, Card, CardKind, Entry, Json, Verdict } from "../kernel/ports.ts";
import { visible } from "../kernel/text.ts";
import { isObject } from "../rules/tools/shape.ts";
import { type CardFacts, cardFacts, OF_ROWS, sectionsOf, seenOf } from "../app/card-facts.ts";
import { accountName, amount, facts, type Html, html, nothing, plain, type Times, whole } from "./html.ts";
import { rowAnswers } from "./story.ts";

interface Words {
  kind: string;
  yes: string;
  no: string;
}

const WORDS: Record<CardKind, Words> = {
  approval: { kind: "Approval", yes: "Approve", no: "Reject" },
  escalation: { kind: "Escalation", yes: "Go on", no: "Stop" },
  form: { kind: "Question", yes: "Answer", no: "Reject" },
  in_doubt: { kind: "Did it happen?", yes: "It happened", no: "It did not" },
  entry: { kind: "Entry to confirm", yes: "Confirm", no: "Reject" },
  row: { kind: "Not booked", yes: "Done, close it", no: "Leave it out" },
  same: { kind: "The same payment?", yes: "The same", no: "Different, book it" },
  gone: { kind: "Deleted from the books", yes: "Book again", no: "Leave out" },
  account: { kind: "Which account?", yes: "This one", no: "None, leave it out" },
  correction: { kind: "Correct an entry", yes: "Move it", no: "Leave it" },
  rule: { kind: "Make this a rule?", yes: "Yes, all alike", no: "No" },
  proposal: { kind: "Proposal", yes: "Approve", no: "Reject" },
  note: { kind: "For you", yes: "Done", no: "Reject" },
};

const CHOOSE = "Choose one";
/** Cards on which an account can be chosen, with the label for keeping it. */
const UNCHANGED: Partial<Record<CardKind, string>> = { entry: "As booked", account: CHOOSE, correction: CHOOSE };

export interface CardContext {
  token: string;
  accounts: readonly Account[];
  /** Entries of the cards, by id. */
  entries: ReadonlyMap<string, Entry>;
  /** Cards that somebody else must decide. */
  others?: ReadonlySet<number>;
  /** Contents of cards of proposals, by number. */
  summaries?: ReadonlyMap<number, Html>;
  typed?: Typed;
  times: Times;
}

/** What was typed into a card's form that could not be carried out, by field. */
export type Typed = Readonly<Record<string, string>>;

/** Id of the entry that a card is about, or null. */
export function entryOf(card: Card): string | null {
  const { body, kind } = card;
  return kind === "entry" && isObject(body) && typeof body["entry"] === "string" ? body["entry"] : null;
}

export function cardView(card: Card, { token, accounts, entries, summaries, others, typed, times }: CardContext): Html {
  const words = WORDS[card.kind];
  const id = `card-${card.id}`;
  const entry = entries.get(entryOf(card) ?? "");
  const rules = rulesOf(card);
  const title = rules?.title ?? titleOf(card);
  const summary = card.kind === "proposal" ? summaries?.get(card.id) : undefined;
  return html`<li><article class="card ${card.kind}" id="${id}" aria-labelledby="${id}-title">
<p class="eyebrow">${words.kind} <span class="number">${card.id}</span>${needed(card)}</p>
<h3 id="${id}-title"><bdi>${plain(title, 300)}</bdi></h3>
${visible(title).length > 300 ? html`<p>${whole(title)}</p>` : nothing}
${rules !== null ? facts(rules.said) : entry !== undefined ? html`${entryView(entry)}${told(card)}` : (summary ?? told(card))}
${card.calls.length > 0 ? callList(card) : nothing}
${card.restated === undefined ? nothing : html`<p class="faint"><bdi>${plain(`version ${card.restated.version}, ${restatedBy(card)}`, 500)}</bdi></p>`}
${card.state === undefined ? nothing : html`<p class="faint">${plain(card.state, 300)}</p>`}
${card.started_by === undefined ? nothing : html`<p class="faint">Started by <bdi>${plain(card.started_by, 500)}</bdi></p>`}
${briefView(card)}
${others?.has(card.id) === true ? html`<p class="faint">Another person must decide this.</p>` : decisionForm(card, token, accounts, typed)}
<p class="when">since ${times.at(card.at)}${card.expires === null ? nothing : html` · expires ${times.at(card.expires)}`}${card.run === null ? nothing : html` · <a href="/runs/${encodeURIComponent(card.run)}">the run</a>`}</p>
</article></li>`;
}

/**
 * Approve, reject, and a reason; applies to the card as it was when this page was made. Enter in a field presses a form's first button, so that
 * is one out of sight that decides nothing. A disabled one would do by the HTML standard, but WebKit skips it.
 */
export function decisionForm(card: Card, token: string, accounts: readonly Account[] = [], typed: Typed = {}): Html {
  const words = WORDS[card.kind];
  const id = `card-${card.id}`;
  const isUnproven = (card.body as { state?: Json } | null)?.state === "unproven";
  const hint = card.kind === "proposal" ? "(kept; a rejection is shown to whoever proposes this again)" : "(optional)";
  return html`<form method="post" action="/cards/${card.id}" aria-label="${words.kind} ${card.id}">
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="seen" value="${seenOf(card)}">
<button class="none" name="decision" value="none" tabindex="-1" aria-hidden="true" formnovalidate>None</button>
${card.kind === "form" ? formFields(card, typed) : card.kind === "approval" ? editFields(card, typed) : nothing}
${UNCHANGED[card.kind] !== undefined && accounts.length > 0 ? accountSelect(id, card.kind === "account" ? accounts.filter(isOfBank) : accounts, UNCHANGED[card.kind] ?? "", typed["account"]) : nothing}
${isUnproven ? html`<p class="field"><label for="${id}-despite">No recorded run tested this change. To approve it anyway, say why</label><input id="${id}-despite" name="despite" value="${typed["despite"] ?? ""}" maxlength="500" required autocomplete="off"></p>` : nothing}
<p class="field"><label for="${id}-reason">Reason <span class="faint">${hint}</span></label><input id="${id}-reason" name="reason" value="${typed["reason"] ?? ""}" maxlength="500" autocomplete="off"></p>
<p class="buttons"><button class="yes" name="decision" value="approved">${words.yes}</button><button class="no" name="decision" value="rejected" formnovalidate>${words.no}</button></p>
</form>`;
}

// A call with a thousand lines is edited with `cleared approve --set`.
const FIELDS = 40;
const LONGEST = 200;

/** A text field for each scalar that a browser returns unchanged. */
function editFields(card: Card, typed: Typed): Html {
  if (card.fixed === true) return nothing;
  const fields = [...scalarsOf(callsOf(card))].filter(([path, value]) => {
    const text = String(value);
    return (
      value !== null &&
      !isFilledIn(value) &&
      card.records?.includes(path) !== true &&
      text.length <= LONGEST &&
      plain(text) === text &&
      !text.includes("\n") &&
      plain(path) === path
    );
  });
  if (fields.length === 0) return nothing;
  const equal = equalAmounts(callsOf(card));
  const id = `card-${card.id}-keep`;
  const keep = html`<p class="field"><label for="${id}"><input id="${id}" type="checkbox" name="keep" value="yes" ${typed["keep"] === "yes" ? "checked" : ""}> Leave the other places as they are</label></p>`;
  const twice = html`${equal.map((one) => html`<p class="lead">The same amount appears in ${one.length} places: change it in each.</p>`)}${equal.length > 0 ? keep : nothing}`;
  const changed = fields.some(([path, value]) => (typed[`set.${path}`] ?? String(value)) !== String(value));
  return html`<details class="brief" ${changed ? "open" : ""}><summary>Change it first</summary>${twice}<div class="fields">${fields
    .slice(0, FIELDS)
    .map(([path, value], i) => {
      const id = `card-${card.id}-set-${i}`;
      return html`<p class="field"><label for="${id}">${path.replace(/^calls\.(\d+)\.params\./, card.calls.length === 1 ? "" : "$1: ")}</label><input id="${id}" name="set.${path}" value="${typed[`set.${path}`] ?? String(value)}" autocomplete="off"></p>`;
    })}</div></details>`;
}

interface Field {
  type: string;
  required?: boolean;
  enum?: unknown[];
  describe?: string;
}

function formFields(card: Card, typed: Typed): Html {
  return html`${Object.entries((card.fields ?? {}) as unknown as Record<string, Field>).map(([name, field], i) => {
    const id = `card-${card.id}-set-${i}`;
    const given = typed[`set.${name}`] ?? "";
    const must = field.required === true ? "required" : "";
    const options = field.enum ?? (field.type === "boolean" ? ["true", "false"] : null);
    const input =
      options !== null
        ? html`<select id="${id}" name="set.${name}" ${must}><option value=""></option>${options.map((one) => html`<option ${String(one) === given ? "selected" : ""}>${plain(String(one), LONGEST)}</option>`)}</select>`
        : html`<input id="${id}" name="set.${name}" type="${field.type === "date" ? "date" : "text"}" inputmode="${["money", "number", "integer"].includes(field.type) ? "decimal" : "text"}" value="${given}" autocomplete="off" ${must}>`;
    const about = field.describe ?? (field.type === "string" ? "" : field.type);
    return html`<p class="field"><label for="${id}">${plain(name.replaceAll("_", " "), 60)} <span class="faint">${plain(about, 200)}${must === "" ? " (optional)" : ""}</span></label>${input}</p>`;
  })}`;
}

/** For an escalating verdict: each rule that applied, in its words. The whole verdict is in the run. */
function rulesOf({ kind, title, body }: Card): { title: string; said: { [rule: string]: string } } | null {
  const verdict = kind === "escalation" ? (body as { verdict?: Verdict | null } | null)?.verdict : null;
  if (verdict === null || verdict === undefined) return null;
  const said = [
    ...verdict.triggered.map(({ rule, description, because }) => [rule, [description, because].filter((one) => one !== "").join(": ")]),
    ...verdict.indeterminate.map(({ rule, missing }) => [rule, `not known: ${missing.join(", ")}`]),
  ];
  // Two policies may use the same rule name.
  const all = [...Map.groupBy(said, ([rule]) => rule)].map(([rule, some]) => [rule, some.map(([, text]) => text).join("; ")]);
  return { title: title === verdict.summary ? (title.split("; ")[0] ?? title) : title, said: Object.fromEntries(all) };
}

function told(card: Card): Html {
  const rows = aboutRows(card);
  if (rows !== null) return facts(rows, { all: true });
  const { own, heading, details } = cardFacts(card);
  const apart = html`<p class="lead">${heading}</p>${facts(details, { all: true })}`;
  return html`${isEmpty(own) ? nothing : facts(own, { all: true })}${isEmpty(details) ? nothing : apart}`;
}

const isEmpty = (of: CardFacts): boolean => Object.keys(of).length === 0;

/** A question about rows of a statement, without hashes: the rows, and what each answer means. */
function aboutRows({ kind, body }: Card): CardFacts | null {
  if (!OF_ROWS.includes(kind)) return null;
  const { booked, about } = body as { booked?: string[]; about?: { [key: string]: Json } };
  const { approve = "", reject = "", ...rest } = { ...about, ...(kind === "row" ? rowAnswers({ body }) : {}) };
  return { ...(booked?.length ? { rows: booked } : {}), ...rest, [WORDS[kind].yes]: approve, [WORDS[kind].no]: reject };
}

/** The level, the approvals so far, and who may not decide: "manager · 1 of 2 (Pat) · not Ann, who started the run". */
function needed(card: Card): Html {
  const { kind, level, levels, approvals = 1, said = [], not_by } = card;
  const parts = [
    levels?.join(" and ") ?? level ?? "",
    approvals > 1 ? `${said.length} of ${approvals}${said.length === 0 ? "" : ` (${said.join(", ")})`}` : "",
    not_by === undefined ? "" : `not ${not_by}, who ${kind === "proposal" ? "proposed it" : "started the run"}`,
    notRequester(card),
  ].filter((part) => part !== "");
  if (kind === "in_doubt" && parts.length > 0) parts.push("to make it again");
  return html`${parts.map((part) => html` · <bdi>${plain(part, 120)}</bdi>`)}`;
}

function briefView(card: Card): Html {
  const sections = sectionsOf(card);
  return html`${isEmpty(sections) ? nothing : html`<details class="brief"><summary>Brief</summary>${facts(sections, { all: true })}</details>`}`;
}

/** The current entry, leg by leg. */
const entryView = (entry: Entry): Html =>
  html`<dl class="facts"><div><dt>date</dt><dd>${plain(entry.date, 10)}</dd></div></dl>${legsView(entry)}`;

export function legsView({ postings }: Pick<Entry, "postings">): Html {
  return html`<dl class="facts legs">${postings.map(
    (leg) =>
      html`<div><dt>${accountName(leg.account)}</dt><dd>${amount(leg.amount, leg.currency)} <span class="currency">${plain(leg.currency, 12)}</span></dd></div>`,
  )}</dl>`;
}

/** What exactly an approval allows: these calls with these parameters, and nothing else. */
function callList(card: Card): Html {
  const lead =
    card.kind === "in_doubt"
      ? "The call in doubt"
      : card.calls.length === 1
        ? "Allows exactly this call"
        : `Allows exactly these ${card.calls.length} calls`;
  return html`<div class="calls"><p class="lead">${lead}</p>${callsOf(card).map((call) => html`<div class="call"><code>${plain(call.tool)}</code>${facts(call.params, { all: true })}</div>`)}</div>`;
}

/** An account that a bank may send statements of. */
const isOfBank = ({ type }: Account): boolean => type === "asset" || type === "liability";

function accountSelect(id: string, accounts: readonly Account[], unless: string, chosen = ""): Html {
  return html`<p class="field"><label for="${id}-account">Account</label><select id="${id}-account" name="account"${unless === CHOOSE ? " required" : ""}><option value="">${unless}</option>${accounts.map(
    (account) =>
      html`<option value="${account.id}" ${account.id === chosen ? "selected" : ""}>${account.id} ${plain(account.name, 100)}</option>`,
  )}</select>${unless === CHOOSE ? html` <span class="faint">one that is missing: add it to main.journal as the others are, and commit that</span>` : nothing}</p>`;
}

/** A button that asks where a confirmed entry belongs; for a moved entry, another that makes a rule from it. */
export function correctForm(entry: string | undefined, token: string, moved = false): Html {
  if (entry === undefined) return nothing;
  const rule = `/entries/${encodeURIComponent(entry)}/rule`;
  return html`<form method="post" action="/entries/${encodeURIComponent(entry)}/correct"><input type="hidden" name="token" value="${token}"><p class="buttons"><button aria-label="Correct entry ${entry}">Correct it</button>${moved ? html`<button aria-label="Make a rule of entry ${entry}" formaction="${rule}">Make this a rule</button>` : nothing}</p></form>`;
}

const DECIDED = { approved: "approved", rejected: "rejected", edited: "approved with a change", expired: "expired" } as const;

/** A decided card, shown above the others after the decision. */
export function decidedView(card: Card, token: string, times: Times): Html {
  if (card.decision === null) return nothing;
  const { decision, by, at, reason } = card.decision;
  return html`<p class="said" role="status">“<bdi>${plain(titleOf(card), 200)}</bdi>” was ${by === "runtime" ? "closed without a decision" : `${DECIDED[decision]} by ${plain(by, 100)}`}, ${times.at(at)}${reason ? html` (“${plain(reason, 500)}”)` : nothing}</p>${decision === "expired" ? nothing : correctForm((card.body as { entry?: string } | null)?.entry, token, card.decision.account !== undefined)}`;
}
