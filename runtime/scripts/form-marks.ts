/** The marks in a form (ports.ts `Survey`): what is a name of the script, a literal, the width of a step. Nothing else has these signs. */
export const NAME = "\u0001";
export const LITERAL = "\u0002";
export const STEP = "\u0003";

/** In place of the list that something is put into: an error that ends the run. */
export const STOPS = "with an error";
/** The same of what is called or changed as the text does not follow it: `list[0](x)`, `f.call(null, x)`, `input.list.pop()`. */
export const INDIRECT = "indirectly";

const marked = (mark: string): RegExp => new RegExp(`${mark}([^${mark}]*)${mark}`, "g");
const [NAMES, LITERALS, HEAD] = [marked(NAME), marked(LITERAL), new RegExp(`^${NAME}([^${NAME}]*)${NAME}`)];

/** The names in a form, in order. */
export const namesIn = (form: string): string[] => [...form.matchAll(NAMES)].map(([, name]) => name ?? "");

/** The form with other words for its names: `to` gets the name and the mark around it. */
export const renamed = (form: string, to: (name: string, whole: string) => string): string =>
  form.replace(NAMES, (whole, name: string) => to(name, whole));

const withoutLiterals = (form: string): string => form.replace(LITERALS, LITERAL);
export const literalsIn = (form: string): string[] => form.match(LITERALS) ?? [];
const literalsOf = (form: string): string => literalsIn(form).sort().join();

/** True for forms that differ in which literals they have, and in nothing else; the same ones in other places are another form. */
export const differInLiterals = (one: string, other: string): boolean =>
  withoutLiterals(one) === withoutLiterals(other) && literalsOf(one) !== literalsOf(other);

/** The name a path begins with, or null. */
export const headOf = (path: string): string | null => HEAD.exec(path)?.[1] ?? null;

/** What stands in the brackets that open at `from`, by commas, and where they end. */
export function argsAt(form: string, from: number): { args: string[]; end: number } {
  const args = [""];
  let [end, depth, quoted] = [from + 1, 0, false];
  for (; depth >= 0 && end < form.length; end++) {
    const sign = form.charAt(end);
    if (sign === LITERAL) quoted = !quoted;
    if (!quoted) depth += "([{".includes(sign) ? 1 : ")]}".includes(sign) ? -1 : 0;
    if (sign === "," && depth === 0 && !quoted) args.push("");
    else if (depth >= 0) args[args.length - 1] += sign;
  }
  return { args, end };
}

/** A form as a person may read it. */
export const plainForm = (form: string): string =>
  renamed(form, (name) => name.slice(name.lastIndexOf(":") + 1).replace(/#\d+$/, ""))
    .replaceAll(LITERAL, "")
    .replaceAll(STEP, "");
