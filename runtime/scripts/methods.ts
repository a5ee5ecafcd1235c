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

/** Methods whose answer is looked at instead of their object. */
export const isPart = (method: string): boolean => [EACH, FORMS, PARTS].some((one) => one.test(method));

/** apply: what a function of the script answers; undefined for what is none. */
export function methodsOf(values: Values, apply: (fn: Value, args: Value, isQuiet?: boolean) => Value | undefined) {
  const { fresh, literal, made, join, choose, field, fieldsOf, set, object, spread, itemsOf, elementOf, listOf, pair, listWith } = values;

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
      let sum = second;
      const answers = itemsOf(target).map(([at, item]) => {
        const given = listWith((isReduce ? [sum ?? item, item] : [item, literal(), target]).map((one) => [one, true]));
        const look = () => apply(first, given, /^fi|^some|^every/.test(name));
        const [answer = literal()] = choose([look, () => undefined]);
        if (isReduce) sum = join(sum, answer);
        return [at, answer] as const;
      });
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
    const answers = all.map((one) => apply(one, listOf(elementOf(target))) ?? one);
    return made(name === "concat" ? "form" : "computed", name, [target, ...answers]);
  }

  return { builtin, method };
}
