/** The marks in a form (ports.ts `Survey`) around a name of the script, a literal, and the width of a step. These characters occur nowhere else. */
export const NAME = "\u0001";
export const LITERAL = "\u0002";
export const STEP = "\u0003";

/** Replaces the name of the list in a put: an error that ends the run. */
export const STOPS = "with an error";
/** Replaces it for a call or change that is not followed: `list[0](x)`, `f.call(null, x)`, `input.list.pop()`. */
export const INDIRECT = "indirectly";

const marked = (mark: string): RegExp => new RegExp(`${mark}([^${mark}]*)${mark}`, "g");
const [NAMES, LITERALS, HEAD] = [marked(NAME), marked(LITERAL), new RegExp(`^${NAME}([^${NAME}]*)${NAME}`)];

/** The names in a form, in order. */
export const namesIn = (form: string): string[] => [...form.matchAll(NAMES)].map(([, name]) => name ?? "");

/** The form with other words for its names: `to` receives the name and the name with its marks. */
export const renamed = (form: string, to: (name: string, whole: string) => string): string =>
  form.replace(NAMES, (whole, name: string) => to(name, whole));

const withoutLiterals = (form: string): string => form.replace(LITERALS, LITERAL);
export const literalsIn = (form: string): string[] => form.match(LITERALS) ?? [];
const literalsOf = (form: string): string => literalsIn(form).sort().join();

/** True for forms that differ only in their literals; the same literals in other places are another form. */
export const differInLiterals = (one: string, other: string): boolean =>
  withoutLiterals(one) === withoutLiterals(other) && literalsOf(one) !== literalsOf(other);

/** The name at the start of a path, or null. */
export const headOf = (path: string): string | null => HEAD.exec(path)?.[1] ?? null;

/** The contents of the brackets that open at `from`, split at commas, and where they end. */
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

/** The first of these constructs outside of literals, with its arguments; null if there is none. */
function constructIn(form: string, kinds: RegExp): { before: string; kind: string; args: string[]; after: string } | null {
  const isCode = ({ index }: RegExpMatchArray) => form.slice(0, index).split(LITERAL).length % 2 === 1;
  const [found] = [...form.matchAll(kinds)].filter(isCode);
  if (found === undefined) return null;
  const { args, end } = argsAt(form, found.index + found[0].length);
  return { before: form.slice(0, found.index), kind: found[0], args, after: form.slice(end) };
}

const CALL = new RegExp(`(?:[${NAME}\\])]|\\.\\w+)\\(|(?<!\\w)(?!(?:Conditional|text|Binaryempty|Binaryfilled)\\()[\\w$]+\\(`);
/** A choice by two conditions that call nothing: their order decides nothing. */
function sorted(form: string, from = 0): string {
  const [kind = "", at] = ((found) => [found?.[0], from + (found?.index ?? 0)] as const)(
    /Conditional\(Logical(?:&&|\|\|)(?=\()/.exec(form.slice(from)),
  );
  if (kind === "") return form;
  const { args, end } = argsAt(form, at + kind.length);
  const all = CALL.test(args.join().replace(LITERALS, "")) ? args : args.toSorted();
  return sorted(`${form.slice(0, at)}${kind}(${all.join()})${form.slice(end)}`, at + kind.length);
}

/** For a choice by a name that was replaced by its value, as forms.ts writes it: `a !== b ? x : y` is `a === b ? y : x`. */
export function turned(form: string): string {
  const found = constructIn(form, /Conditional(?=\((?:Unary!\(|Binary!==?\(|Binaryfilled\())/g);
  if (found === null) return sorted(form);
  const [test = "", yes = "", no = ""] = found.args;
  const equal = test.replace("Binary!", "Binary=").replace("Binaryfilled", "Binaryempty");
  const opposite = test.startsWith("Unary") ? test.slice("Unary!(".length, -1) : equal;
  return turned(`${found.before}Conditional(${[opposite, no, yes].join()})${found.after}`);
}

/** The constructs of a form as code. */
function asCode(form: string): string {
  const found = constructIn(
    form,
    /(?<![.\w])(?:Conditional|text|(?:Binary|Logical|Unary)(?:empty|filled|[^\w\s(]+|in|instanceof|typeof))(?=\()/g,
  );
  if (found === null) return form;
  const [a = "", b = "", c = ""] = found.args;
  const operator = found.kind.replace(/^(?:Binary|Logical|Unary)/, "");
  const length = { empty: `${b}.length === 0`, filled: `${b}.length > 0` }[operator];
  const choice = found.kind === "Conditional" ? `${a} ? ${b} : ${c}` : found.kind === "text" ? found.args.join(" + ") : undefined;
  const one = found.kind.startsWith("Unary") ? `${operator}${a}` : `${a} ${operator} ${b}`;
  return asCode(`${found.before}${length ?? choice ?? one}${found.after}`);
}

/** A form in readable text. */
export const plainForm = (form: string): string =>
  renamed(asCode(form), (name) => name.slice(name.lastIndexOf(":") + 1).replace(/#\d+$/, ""))
    .replaceAll(LITERAL, "")
    .replaceAll(STEP, "");
