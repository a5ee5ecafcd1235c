/** What the methods and functions of JavaScript answer in a script that is followed (follow.ts): the value itself, a part of it, or another. */
import { type Value, type Values, waysOf } from "./values.ts";

/** Methods that call a function with each element of their list. */
const EACH = /^(?:forEach|map|flatMap|filter|find|findLast|findIndex|some|every|reduce|reduceRight)$/;
/** Those that answer what it does. */
export const ANSWERED = /^(?:map|flatMap|reduce|reduceRight)$/;
/** Methods by which a list or set gets its arguments. */
const ADDS = /^(?:push|unshift|splice|fill|add)$/;
/** Methods whose answer is their value in another form. */
const FORMS = /^(?:to\w*String|toFixed|to(?:Upp|Low)erCase|trim\w*|join|pad\w+|valueOf|slice|(?:toS|s)ort|(?:toR|r)everse\w*|with|values)$/;
/** Methods whose answer is a part of their value. */
const PARTS = /^(?:at|pop|shift|get)$/;
/** Methods whose answer is no figure. */
export const JUDGES = /^(?:eq|equals|[gl]te?|is[A-Z]\w*|includes|some|every|findIndex|indexOf|has|test|startsWith|endsWith)$/;
/** Functions whose answer is their argument in another form. */
const COPIES = /^(?:String|Number|Decimal|Date|Set|parse\w+|JSON\.\w+|Object\.freeze|Array\.from)$/;

/** What computes a figure from figures, whatever they are called. */
export const FIGURES = /^(?:sum|minus|sub|times|mul|div\w*|mod|pow|[-*/%])$/;

/** Methods whose answer is looked at instead of their object. */
export const isPart = (method: string): boolean => [EACH, FORMS, PARTS].some((one) => one.test(method));

/** apply: what a function of the script answers; undefined for what is none. */
export function methodsOf(
  values: Values,
  apply: (fn: Value, args: Value, isQuiet?: boolean) => Value | undefined,
  again: (gatesBefore: number, look: () => unknown) => void,
) {
  const { gates, fresh, literal, made, join, choose, field, fieldsOf, set, object, spread, itemsOf, elementOf, listOf, pair, listWith } =
    values;

  /** A function that the script does not declare, or `new`. */
  function builtin(name: string, args: Value): Value {
    const first = field(args, "0");
    const second = fieldsOf(args).get("1");
    if (name === "Object.assign") for (const [at, one] of itemsOf(args)) if (at !== "0") spread(first, one);
    if (name === "Object.assign") return first;
    if (name === "Object.values") return listOf(field(first, null));
    if (name === "Object.entries") return listOf(pair(field(first, null)));
    if (name === "Object.keys") return listOf(literal());
    if (name === "Array.from" && second !== undefined) return method("map", first, listOf(second));
    if (name.endsWith(".groupBy")) return object([[null, listOf(elementOf(first))]], name === "Map.groupBy" ? { isMap: true } : {});
    if (name === "Map" || name === "Object.fromEntries") {
      const value = object([], name === "Map" ? { isMap: true } : {});
      for (const one of itemsOf(first).flatMap(([, each]) => waysOf(each))) set(value, field(one, "0").text ?? null, field(one, "1"));
      return value;
    }
    if (fieldsOf(args).size === 0) return object();
    return COPIES.test(name)
      ? first
      : made(
          "computed",
          name,
          itemsOf(args).map(([, one]) => one),
        );
  }

  function method(name: string, target: Value, args: Value): Value {
    const [first, second] = ["0", "1"].map((at) => fieldsOf(args).get(at) ?? fieldsOf(args).get("*"));
    if (EACH.test(name) && first !== undefined) {
      const isReduce = name.startsWith("reduce");
      const size = gates.size;
      let sum = second;
      const answers = itemsOf(target).map(([at, item]) => {
        const given = listWith((isReduce ? [sum ?? item, item] : [item, literal(), target]).map((one) => [one, true]));
        const look = () => apply(first, given, /^fi|^some|^every/.test(name));
        const [answer = literal()] = choose([look, () => undefined]);
        if (isReduce) sum = join(sum, answer);
        return [at, answer] as const;
      });
      again(size, () => apply(first, listOf(fresh("fact"))));
      if (isReduce) return sum ?? literal();
      if (name === "map") return object(answers);
      if (name === "flatMap") return listOf(join(...answers.map(([, one]) => elementOf(one))));
      if (name === "filter") return target;
      return JUDGES.test(name) ? fresh("fact") : name === "forEach" ? literal() : elementOf(target);
    }
    const all = itemsOf(args).map(([, one]) => one);
    if (ADDS.test(name)) for (const one of all) set(target, null, one);
    if (name === "set" && second !== undefined) set(target, first?.text ?? null, second);
    if (PARTS.test(name)) return field(target, first?.text ?? null);
    if (name === "flat") return listOf(elementOf(elementOf(target)));
    if (name === "entries") return listOf(pair(field(target, null)));
    if (name === "split") return listOf(target);
    if (name === "concat" && waysOf(target).some((one) => one.kind === "object")) return listOf(join(...[target, ...all].map(elementOf)));
    if (FORMS.test(name) || ADDS.test(name) || name === "set") return target;
    if (JUDGES.test(name)) return fresh("fact");
    if (/^(?:plus|add)$/.test(name)) return sumOf(values, [target, ...all]);
    const answers = all.map((one) => apply(one, listOf(elementOf(target))) ?? one);
    return made(name === "concat" ? "form" : "computed", name, [target, ...answers]);
  }

  return { builtin, method };
}

/** A sum of these, in whatever order and groups they are added. */
function sumOf({ made, literal }: Values, all: readonly Value[]): Value {
  const parts = all.flatMap(waysOf).flatMap((one) => (one.how === "sum" ? one.parts : one.kind === "literal" ? [] : [one]));
  const each = [...new Map(parts.map((one) => [one.id, one])).values()].sort((a, b) => a.id - b.id);
  return each.length === 0 ? literal() : made("computed", "sum", each);
}

/** What a primitive for records answers with these parameters. */
export function tableOf(values: Values, name: string, params: Value): Value {
  const { object, literal, listOf, join, field, fieldsOf, elementOf } = values;
  // A list of records, or the whole answer of a fetch.
  const lists = waysOf(field(params, "records")).map((one) => fieldsOf(one).get("records") ?? one);
  const one = elementOf(join(...lists));
  const by = (key: string) => field(one, field(params, key).text ?? null);
  if (name === "data_sum") return object(Object.entries({ sum: sumOf(values, [by("field")]), count: literal() }));
  if (name === "data_first") return one;
  const all = listOf(one);
  return name === "data_group_by"
    ? listOf(object(Object.entries({ key: by("by"), count: literal(), records: all })))
    : object(Object.entries({ records: all, duplicates: all }));
}
