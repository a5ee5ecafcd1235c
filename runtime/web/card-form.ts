/** What a person may type on a card: the parameters of the calls it asks for, or the fields of a form. */
import { equalAmounts, scalarsOf } from "../engine/edits.ts";
import type { Card } from "../kernel/ports.ts";
import { type Html, html, nothing, plain } from "./html.ts";

// A call of a thousand lines is edited with `cleared approve --set`.
const FIELDS = 40;
const LONGEST = 200;

/** A text field for each scalar that a browser gives back as it was. */
export function editFields(card: Card): Html {
  if (card.fixed === true) return nothing;
  const fields = [...scalarsOf(card.edited ?? card.calls)].filter(([path, value]) => {
    const text = String(value);
    return value !== null && text.length <= LONGEST && plain(text) === text && !text.includes("\n") && plain(path) === path;
  });
  if (fields.length === 0) return nothing;
  const twice = equalAmounts(card.calls).map(
    (paths) => html`<p class="lead">The same amount appears in ${paths.length} places: change it in each.</p>`,
  );
  return html`<details class="brief"><summary>Change it first</summary>${twice}<div class="fields">${fields
    .slice(0, FIELDS)
    .map(([path, value], i) => {
      const id = `card-${card.id}-set-${i}`;
      return html`<p class="field"><label for="${id}">${path.replace(/^calls\.(\d+)\.params\./, card.calls.length === 1 ? "" : "$1: ")}</label><input id="${id}" name="set.${path}" value="${String(value)}" autocomplete="off"></p>`;
    })}</div></details>`;
}

interface Field {
  type: string;
  required?: boolean;
  enum?: unknown[];
  describe?: string;
}

export function formFields(card: Card): Html {
  return html`${Object.entries((card.fields ?? {}) as unknown as Record<string, Field>).map(([name, field], i) => {
    const id = `card-${card.id}-set-${i}`;
    const must = field.required === true ? "required" : "";
    const options = field.enum ?? (field.type === "boolean" ? ["true", "false"] : null);
    const input =
      options !== null
        ? html`<select id="${id}" name="set.${name}" ${must}><option value=""></option>${options.map((one) => html`<option>${plain(String(one), LONGEST)}</option>`)}</select>`
        : html`<input id="${id}" name="set.${name}" type="${field.type === "date" ? "date" : "text"}" inputmode="${["money", "number", "integer"].includes(field.type) ? "decimal" : "text"}" autocomplete="off" ${must}>`;
    const about = field.describe ?? (field.type === "string" ? "" : field.type);
    return html`<p class="field"><label for="${id}">${plain(name.replaceAll("_", " "), 60)} <span class="faint">${plain(about, 200)}${must === "" ? " (optional)" : ""}</span></label>${input}</p>`;
  })}`;
}
