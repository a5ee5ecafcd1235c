/**
 * What the text of a script shows of what it can do, for comparing two versions: its literals with the names above them, the values of its
 * names and keys, and the conditions of each call. Runs in the compile child beside the language lint.
 * Size: one walk, whose kinds of nodes share their state.
 */
import type { Deed, Survey, SurveyTest } from "../kernel/ports.ts";
import { INDIRECT, NAME, STOPS, headOf, namesIn, renamed } from "./form-marks.ts";
import { calleeOf, formsOf, isFixed, isFixedRow, methodOf, resultOf, textIn } from "./forms.ts";
import type { Names } from "./names.ts";
import { ALIAS } from "./same-choices.ts";
import { keyIn } from "./same-forms.ts";
import { type Node, TYPED, bare, boundIn, children, isFunction, literalText, nameOf, rootOf, within } from "./syntax.ts";

interface Around {
  /** Names from the nearest variable or call down to here: `policy_evaluate.facts.total`; a name of the script as its form. */
  path: string;
  /** Conditions under which this place is reached, outermost first. */
  tests: readonly SurveyTest[];
  /** The function of the script that contains this place. */
  inside: string | null;
  /** The nearest name to which the value here is assigned. */
  of: string | null;
  row: number | null;
  compared: boolean;
  /** The tool of the call that contains this place. */
  tool: string | null;
}

/** A call of a function with its arguments, or the place where it is passed on; `at`: number of alterations before it. */
interface Caller {
  around: Around;
  args?: readonly Node[];
  at: number;
  start: number;
}

export interface SurveyOptions {
  /** The text that the offsets of the nodes refer to. */
  text: string;
  /** Calls of primitives, by node. */
  sites: ReadonlyMap<Node, number>;
  line: (offset: number) => number;
  primitives: readonly string[];
}

/** Ways to make an object with keys that are not in the text. */
const BUILDERS = new Set(["JSON.parse", "Object.fromEntries", "Object.defineProperty"]);
const COMPARES = /^(?:[!=]==?|[<>]=?|in)$/;
const ASKS = new Set("includes startsWith endsWith indexOf match search test localeCompare eq lt gt lte gte cmp".split(" "));
/** `rows.forEach((row) => ...)` is `for (const row of rows) ...`. */
const EACH = new Set("forEach map flatMap filter find some every".split(" "));
/** Methods that the result of their function ends. */
const ENDING = /^(?:some|every|find|findIndex|findLast|findLastIndex)$/;
/** Methods that change their list or first argument in place. */
const ALTERS = new Set("reverse sort splice pop shift fill copyWithin set add delete clear Object.assign Reflect.set".split(" "));
const FOLLOWED = new Set([...EACH, ...ALTERS]);
/** Calls of a function that its text does not name: `list[0](x)`, `f.call(null, x)`. */
const UNFOLLOWED = /^(?:|call|apply|bind)$/;
const EXITS = new Set(["ReturnStatement", "ThrowStatement"]);
const LOOPS = /^(?:For|ForOf|ForIn|While|DoWhile)Statement$/;
const ENDED = "an earlier round has ended the loop";
/** True when a statement can leave its list, `by` such a jump. `inner`: a break or continue only leaves a loop inside of it. */
function leaves(node: Node, by = /^(?:Break|Continue)S/, inner = false): boolean {
  if (EXITS.has(node.type)) return true;
  if (/^(?:Break|Continue)S/.test(node.type)) return node["label"] != null || (!inner && by.test(node.type));
  const isLoop = inner || LOOPS.test(node.type) || node.type === "SwitchStatement";
  return !isFunction(node) && [...children(node)].some((child) => leaves(child, by, isLoop));
}

const WHOLE = 2000;
/** Most ways to one deed that are followed. */
const WAYS = 40;
const COMMENTED = /("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*|\s+/g;

export function surveyOf(body: readonly Node[], names: Names, { text, sites, line, primitives }: SurveyOptions): Survey {
  const isPrimitive = new Set(primitives);
  const survey: Survey = { literals: [], names: {}, fields: [], puts: [], built: [], when: [] };
  const { ids, given } = names;
  const idOf = (binding: Node): string => ids.get(binding) ?? "";
  const { form, exact, isStep, elements, isElement, listOf } = formsOf(body, names);
  const elementsOf = new Map<string, Node>();
  const callers = new Map<string, Caller[]>();
  /** Names that get another value, or have something put into them, in the order of the text. */
  const altering: { id: string; inside: string | null }[] = [];
  /** Parameters with their function, position and path in that argument; those that are altered; the arguments passed. */
  const params = new Map<string, { of: string; nth: number; way: string }>();
  const altered: string[] = [];
  const handed: { to: string; arg: Node; node: Node; around: Around }[] = [];
  /** Functions passed by name, with what they are passed to. */
  const passed = new Map<string | undefined, { of: string; over: Node | null }>();
  const reached: { node: Node; index: number; deed: Deed; caller: Caller }[] = [];
  const putting: { list: string; line: number; deed: Deed; caller: Caller; counts?: () => boolean }[] = [];
  /** Functions that have a name; other names with the function they belong to; calls whose result is not used. */
  const functions = new Set<string>();
  const belongs = new Map<string, string | null>();
  const statements = new Set<Node>();
  const columns = new Set<string>();
  let rows = 0;
  /** An expression as written, without comments, and its line. */
  const place = (node: Node): { shown: string; line: number } => {
    const plain = text.slice(node.start, node.end).replace(COMMENTED, (_, quoted?: string) => quoted ?? " ");
    return { shown: plain.trim().slice(0, WHOLE), line: line(node.start) };
  };
  const test = (node: Node, kind: SurveyTest["kind"] = "if") => ({ form: form(node), kind, ...place(node) });
  const under = (around: Around, more: SurveyTest): Around => ({ ...around, tests: [...around.tests, more] });

  /** Records that `id` gets the value of `node`, of which only the part at `way`. */
  const define = (
    id: string,
    what: { form: string; node: Node; body?: true; way?: string; exact?: string; tests?: readonly SurveyTest[] },
  ): void => {
    const { node, way } = what;
    const whole = what.exact === undefined || what.exact === what.form ? {} : { exact: what.exact, whole: place(node).shown };
    const entry = {
      form: what.form,
      ...whole,
      ...place(node),
      ...(way && { way }),
      ...(what.tests && { tests: what.tests }),
      ...(what.body === true ? { body: true as const } : {}),
    };
    survey.names[id] = [...(survey.names[id] ?? []), entry];
  };
  const bindings = (pattern: Node, value: Node, ofForm: string, whole: string, isPart = false): void => {
    for (const { node, way, without = "" } of boundIn(pattern)) {
      // The items of a loop, and destructured values, are parts of the whole value.
      if (way !== "" || isPart) elementsOf.set(idOf(node), value);
      define(idOf(node), { form: ofForm + way, node: value, way, exact: whole + way + without });
      if (without !== "" && !isPart) for (const one of survey.names[idOf(node)] ?? []) one.whole = place(pattern).shown;
    }
  };
  /** `node` changes what `target` is a part of; a name for one of its elements represents it. */
  const alter = (target: Node | undefined, node: Node, around: Around): void => {
    const seen = new Set<string>();
    for (let root = target && rootOf(target, false); root !== undefined; ) {
      const id = ids.get(root);
      if (id === undefined && seen.size === 0) put(INDIRECT, node, [node], around);
      if (id === undefined || seen.has(id)) return;
      seen.add(id);
      alterOuter(id, node, around);
      const param = params.get(id);
      if (param !== undefined) altered.push(`${param.nth} of ${param.of}`);
      altering.push({ id, inside: around.inside });
      const tests = around.tests.map((one) => `${one.kind} ${one.form}`);
      define(id, { form: [...tests, form(node)].join(" "), exact: [...tests, exact(node)].join(" "), node, tests: around.tests });
      const whole = elementsOf.get(id) ?? given.get(id)?.[0];
      root = whole && rootOf(whole, true);
    }
  };
  const field = (path: string, value: Node, around: Around): void => {
    const plain = bare(value);
    if (plain.type === "Literal" || literalText(plain) !== null || plain.type === "ObjectExpression") return;
    const entry = { path, form: form(value), fixed: isFixed(value, names), tool: around.tool };
    survey.fields.push({ ...entry, ...place(value) });
  };
  /** A function of the script that is called or passed on. */
  const mention = (name: Node, around: Around, args?: readonly Node[], key = ""): void => {
    const id = ids.get(name);
    if (id !== undefined)
      callers.set(id + key, [...(callers.get(id + key) ?? []), { around, at: altering.length, start: name.start, ...(args && { args }) }]);
  };
  const deedOf = (node: Node, args: readonly Node[], around: Around): { deed: Deed; caller: Caller } => {
    const parts = args.map((one) => (isFunction(bare(one)) ? "" : exact(one)));
    return {
      deed: { exact: parts.join(), order: [node.start], tests: [...around.tests], after: [], ...place(node) },
      caller: { around, at: altering.length, start: node.start },
    };
  };
  const put = (list: string, node: Node, args: readonly Node[], around: Around, counts?: () => boolean): void =>
    void putting.push({ list, line: line(node.start), ...deedOf(node, args, around), ...(counts && { counts }) });
  /** What a function alters outside of itself depends on its arguments. */
  const alterOuter = (id: string, node: Node, around: Around): void =>
    put(
      `${NAME}${id}${NAME}`,
      node,
      node.type === "AssignmentExpression" ? [node["left"] as Node, node["right"] as Node] : [node],
      around,
      () => belongs.has(id) && belongs.get(id) !== around.inside,
    );
  /** A deed by each way to it: through the calls of the functions that contain it, with their arguments. */
  const waysOf = (deed: Deed, { around, at }: Caller, seen: readonly string[] = []): Deed[] => {
    const own = altering.filter((one) => one.inside === around.inside);
    const before = altering.slice(0, at).filter((one) => one.inside === around.inside);
    const times = (all: typeof own, name: string) => all.filter(({ id }) => id === name).length;
    const after = [...new Set(namesIn(deed.exact))].flatMap((name) =>
      times(own, name) === 0 ? [] : [`${NAME}${name}${NAME} ${times(before, name)}/${times(own, name)}`],
    );
    const all = around.inside === null || seen.includes(around.inside) ? [] : (callers.get(around.inside) ?? []);
    const whole = { ...deed, after: [...deed.after, ...after] };
    if (all.length === 0) return [whole];
    return all.slice(0, WAYS).flatMap((one) => {
      const { args, around: from } = one;
      const handed = (form: string) =>
        renamed(form, (id, mark) => {
          const param = params.get(id);
          const arg = param?.of === around.inside ? args?.[param.nth] : undefined;
          return param && arg && !isFunction(bare(arg)) ? exact(arg) + param.way : mark;
        });
      const tests = [...deed.tests.map((each) => ({ ...each, form: handed(each.form) })), ...from.tests];
      const order = [one.start, ...deed.order];
      return waysOf({ ...whole, exact: handed(deed.exact), order, tests }, one, [...seen, around.inside ?? ""]).slice(0, WAYS);
    });
  };

  const list = (nodes: readonly Node[], around: Around): void => {
    let now = around;
    for (const node of nodes) {
      visit(node, now);
      // The statements after `if (x) return` are reached when x is false.
      if (leaves(node)) now = under(now, test(node.type === "IfStatement" ? (node["test"] as Node) : node, "not"));
    }
  };
  /** The body of a loop: repeated as its head says, unless an earlier round has ended it. */
  const rounds = (loop: Node, around: Around): void => {
    const body = loop["body"] as Node;
    const all = body.type === "BlockStatement" ? (body["body"] as Node[]) : [body];
    const ends = all.filter((one) => leaves(one, /^BreakS/));
    const ended = (one: Node): SurveyTest =>
      one.type === "IfStatement" ? test(one["test"] as Node, "not") : { ...test(one, "not"), shown: ENDED };
    visit(body, ends.map(ended).reduce(under, around));
  };
  const choice = (node: Node, on: Node, branches: readonly (Node | null | undefined)[], around: Around): void => {
    visit(on, { ...around, path: "" });
    branches.forEach((branch, i) => {
      if (branch) visit(branch, under(around, test(on, i === 1 || node["operator"] === "||" ? "not" : "if")));
    });
  };
  /** A function where it is written: its own scope, and, if it has a name, the conditions of its callers. */
  const enter = (node: Node, around: Around, name: string | null, { of, over }: { of: string; over?: Node | null }): void => {
    const each = over ? `each ${form(over)}` : null;
    const own = node["params"] as Node[];
    for (const [i, param] of own.entries()) {
      for (const { node: bound, way } of boundIn(param)) {
        if (name !== null) params.set(idOf(bound), { of: name, nth: i, way });
        if (over && i === 0) elementsOf.set(idOf(bound), over);
        const [from, nth] = [each !== null && i === 0 ? each : `${i} of ${of}`, name === null ? "" : `, number ${i + 1}`];
        define(idOf(bound), { form: from + way, node: bound, way: nth });
      }
    }
    const inner: Around = { ...around, row: null, compared: false, ...(name === null ? {} : { path: "", tests: [], inside: name }) };
    for (const param of own) visit(param, inner);
    const code = node["body"] as Node;
    if (code.type !== "BlockStatement") visit(code, inner);
    else list(code["body"] as Node[], inner);
  };

  const visit = (node: Node, around: Around): void => {
    const plainType = node.type.startsWith("TS") && !TYPED.has(node.type);
    if (plainType && node.type !== "TSInstantiationExpression") return;
    const literal = (value: string | number | boolean) => {
      if (isStep(node) || (value === "" && node.type !== "Literal")) return;
      const { path, row, compared, tool, of } = around;
      survey.literals.push({ value, path, row, compared, tool, line: line(node.start), ...(of !== null && { of }) });
    };
    switch (node.type) {
      case "Literal":
        if (["string", "number", "boolean"].includes(typeof node["value"])) literal(node["value"] as string);
        return;
      case "TemplateElement":
        literal((node["value"] as { cooked: string | null }).cooked ?? "");
        return;
      case "BlockStatement":
        return list(node["body"] as Node[], around);
      case "IfStatement":
      case "ConditionalExpression":
        return choice(node, node["test"] as Node, [node["consequent"] as Node, node["alternate"] as Node | null], around);
      case "LogicalExpression": {
        const left = test(node["left"] as Node, node["operator"] === "&&" ? "if" : "not");
        visit(node["left"] as Node, around);
        return visit(node["right"] as Node, under(around, node["operator"] === "??" ? { ...left, form: `there is ${left.form}` } : left));
      }
      case "WhileStatement":
      case "DoWhileStatement": {
        const again = test(node["test"] as Node, "each");
        const first = node.type === "DoWhileStatement" ? around : under(around, { ...again, kind: "if" });
        visit(node["test"] as Node, { ...around, path: "" });
        return rounds(node, under(first, { ...again, form: `while ${again.form}`, shown: `while (${again.shown})` }));
      }
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement": {
        const start = (node["left"] ?? node["init"]) as Node | null;
        const list = listOf(node);
        if (list !== null && start !== null) {
          const [only] = start["declarations"] as [Node];
          bindings(only["id"] as Node, list, `each ${form(list)}`, `each ${exact(list)}`, true);
          return rounds(node, under(around, test(list, "each")));
        }
        const range = node["right"] as Node | undefined;
        if (start?.type === "VariableDeclaration" && range !== undefined)
          for (const one of start["declarations"] as Node[])
            bindings(one["id"] as Node, range, `each ${form(range)}`, `each ${exact(range)}`, true);
        for (const child of children(node)) if (child !== node["body"] && child.type !== "UpdateExpression") visit(child, around);
        // How often it happens is part of the conditions.
        const head = (range ?? node["test"]) as Node | null;
        return rounds(node, head === null ? around : under(around, test(head, "each")));
      }
      case "SwitchStatement": {
        const on = node["discriminant"] as Node;
        visit(on, around);
        const cases = node["cases"] as Node[];
        const labels: SurveyTest[] = [];
        const others = cases.flatMap((other) => (other["test"] ? [test(other["test"] as Node)] : []));
        const none = (key: "form" | "shown") => `none of ${others.map((each) => each[key]).join(", ")}`;
        for (const [i, one] of cases.entries()) {
          const value = one["test"] as Node | null;
          // A case that is not left continues into the next case.
          if (((cases[i - 1]?.["consequent"] ?? []) as Node[]).some((each) => leaves(each))) labels.splice(0);
          labels.push(value === null ? { ...test(on), form: none("form"), shown: none("shown") } : test(value));
          const [form, shown] = [labels.map((each) => each.form), labels.map((each) => each.shown)].map((all) => all.join(" or "));
          list(one["consequent"] as Node[], under(under(around, test(on)), { ...test(value ?? on), form, shown } as SurveyTest));
          if (value !== null) visit(value, { ...around, compared: true });
        }
        return;
      }
      case "AssignmentPattern": {
        const [left, right] = [node["left"] as Node, node["right"] as Node];
        const id = ids.get(left);
        if (id !== undefined) define(id, { form: `=${form(right)}`, exact: `=${exact(right)}`, node: right });
        visit(left, around);
        return visit(right, { ...around, path: id === undefined ? "" : `${NAME}${id}${NAME}` });
      }
      case "VariableDeclarator": {
        const { id, init } = node as unknown as { id: Node; init: Node | null };
        const isName = id.type === "Identifier";
        for (const { node: bound } of boundIn(id)) belongs.set(idOf(bound), around.inside);
        if (init === null || isElement(init)) return;
        if (isName && isFunction(bare(init))) return named(bare(init), id, around);
        if (!(isStep(init) && isName)) bindings(id, init, form(init), exact(init));
        visit(id, around);
        const of = isName ? `${NAME}${idOf(id)}${NAME}` : null;
        return visit(init, { ...around, path: of ?? "", of: of ?? around.of });
      }
      case "FunctionDeclaration":
        return named(node, node["id"] as Node, around);
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return enter(node, around, null, { of: "" });
      case "ObjectExpression": {
        const properties = elements(node) as Node[];
        const tools = properties.map((one) => (nameOf(one) === "tool" ? textIn(one["value"] as Node, names) : null));
        const own = { ...around, tool: tools.find((tool) => tool !== null) ?? around.tool };
        for (const one of properties) {
          if (one.type === "Property") property(one, own);
          else {
            field(`${around.path}....`, one["argument"] as Node, own);
            visit(one, own);
          }
        }
        return;
      }
      case "ArrayExpression":
        for (const one of elements(node))
          if (one !== null) visit(one, bare(one).type === "ObjectExpression" ? { ...around, row: ++rows } : around);
        return;
      case "ThrowStatement":
        put(STOPS, node, [], around);
        return visit(node["argument"] as Node, { ...around, path: "throw" });
      case "BinaryExpression":
        for (const one of children(node)) visit(one, COMPARES.test(String(node["operator"])) ? { ...around, compared: true } : around);
        return columnsOf(COMPARES.test(String(node["operator"])) ? [...children(node)] : []);
      case "AssignmentExpression":
        return assignment(node, around);
      case "UpdateExpression":
      case "UnaryExpression":
        if (/^(?:delete|\+\+|--)$/.test(String(node["operator"]))) alter(node["argument"] as Node, node, around);
        return visit(node["argument"] as Node, around);
      case "ExpressionStatement":
        if (node !== body.at(-1)) statements.add(bare(node["expression"] as Node));
        return visit(node["expression"] as Node, around);
      case "CallExpression":
        return call(node, around);
      case "Identifier":
        // `const f = mcp_call`: calls of f are not followed.
        if (isPrimitive.has(node["name"] as string)) survey.built.push(line(node.start));
        return mention(node, around);
      case "MemberExpression":
        visit(node["object"] as Node, around);
        return keyIn(node) === null ? visit(node["property"] as Node, { ...around, path: "" }) : undefined;
      default:
        for (const child of children(node)) visit(child, around);
    }
  };
  const named = (node: Node, id: Node, around: Around): void => {
    const name = idOf(id);
    functions.add(name);
    const result = resultOf(node);
    define(name, { form: form(node), exact: exact(node), node: result ?? node, ...(result === null ? { body: true as const } : {}) });
    enter(node, around, name, { of: `${NAME}${name}${NAME}` });
  };
  /** `rules[i].text` in a comparison: the literals of that column are only used in comparisons. */
  const columnsOf = (nodes: readonly Node[]): void => {
    for (const one of nodes.map(bare)) if (one.type === "MemberExpression") columns.add(keyIn(one) ?? "");
  };
  const assignment = (node: Node, around: Around): void => {
    const left = bare(node["left"] as Node);
    const right = node["right"] as Node;
    const value = `${String(node["operator"])}${form(right)}`;
    // The value of an assignment depends on when it is made; a declaration is unconditional.
    const entry = [...around.tests.map((one) => `${one.kind} ${one.form}`), value].join(" ");
    if (left.type === "MemberExpression") {
      const property = left["property"] as Node;
      const name = left["computed"] === true ? literalText(property) : (property["name"] as string);
      if (name === null) survey.built.push(line(left.start));
      else field(`${form(left["object"] as Node)}.${name}`, right, around);
      alter(left, node, around);
      visit(left, around);
      return visit(right, { ...around, path: name ?? "" });
    }
    for (const { node: bound, way } of boundIn(left)) {
      const id = ids.get(bound);
      if (id !== undefined) {
        altering.push({ id, inside: around.inside });
        alterOuter(id, node, around);
        define(id, {
          form: entry + way,
          exact: `${entry.slice(0, -value.length)}${String(node["operator"])}${exact(right)}${way}`,
          node: right,
          tests: around.tests,
        });
      }
    }
    // `[a[0], a[1]] = [a[1], a[0]]`
    for (const one of left.type === "Identifier" ? [] : within(left)) if (one.type === "MemberExpression") alter(one, node, around);
    const to = left.type === "Identifier" ? form(left) : null;
    visit(right, { ...around, path: to ?? "", of: to ?? around.of });
  };
  const call = (node: Node, around: Around): void => {
    const index = sites.get(node);
    const callee = bare(node["callee"] as Node);
    const name = calleeOf(node);
    const args = node["arguments"] as Node[];
    const asks = ASKS.has(ALIAS.get(methodOf(node)) ?? methodOf(node));
    if (index !== undefined) reached.push({ node, index, ...deedOf(node, args, around) });
    if (BUILDERS.has(name)) survey.built.push(line(node.start));
    if (callee.type !== "Identifier") visit(callee, { ...around, path: "", compared: asks });
    else if (index === undefined) mention(callee, around, args);
    const object = callee.type === "MemberExpression" ? bare(callee["object"] as Node) : null;
    if (object?.type === "Identifier") mention(object, around, args, `.${methodOf(node)}`);
    if (asks) columnsOf(args);
    const method = methodOf(node);
    const isPut = method === "push" || method === "unshift";
    const holder = isPut ? form(callee["object"] as Node) : "";
    const stem = rootOf(callee, false);
    const root = stem && ids.get(stem);
    if (isPut) {
      put(root === undefined ? INDIRECT : holder, node, args, around);
      if (root !== undefined) altering.push({ id: root, inside: around.inside });
    }
    const isUnfollowed =
      callee.type === "Identifier"
        ? root !== undefined
        : UNFOLLOWED.test(method) || (statements.has(node) && !isPut && !FOLLOWED.has(method) && !ALTERS.has(name));
    const known = callee.type === "Identifier" ? root : object?.type === "Identifier" ? `${root}.${method}` : undefined;
    if (index === undefined && isUnfollowed) put(INDIRECT, node, [callee, ...args], around, () => !functions.has(known ?? ""));
    if (ALTERS.has(method) && callee["object"]) alter(callee["object"] as Node, node, around);
    if (callee.type !== "Identifier" && ALTERS.has(name)) alter(args[0], node, around);
    // `rows.forEach(f)` makes the calls of f once for each row.
    const over = callee.type === "MemberExpression" ? (callee["object"] as Node) : null;
    // The parameters of a sub-script are listed under the name of that script.
    const script = name === "script_run" && args[0] ? textIn(args[0], names) : null;
    const own = script === null ? name : `${name} ${script}`;
    const path = index !== undefined ? own : callee.type === "Identifier" ? form(callee) : "";
    for (const [i, one] of args.entries()) {
      const plain = bare(one);
      if (isFunction(plain)) {
        const each = over === null ? around : under(around, test(over, "each"));
        const handed = ENDING.test(methodOf(node)) ? under(each, { ...test(plain, "not"), shown: ENDED }) : each;
        enter(plain, { ...handed, path: "" }, null, { of: form(callee), over: EACH.has(methodOf(node)) && i === 0 ? over : null });
      } else {
        if (index !== undefined) field(`${own}.`, one, around);
        // `f(rows)`, `rows.forEach(f)`
        const isEach = over !== null && i === 0 && plain.type === "Identifier" && EACH.has(methodOf(node));
        const to = isEach ? plain : callee;
        if (to.type === "Identifier") handed.push({ to: `${i} of ${ids.get(to)}`, arg: isEach ? over : one, node, around });
        if (over !== null && plain.type === "Identifier") passed.set(ids.get(plain), { of: form(callee), over: isEach ? over : null });
        // An object put into a table unchanged is a row of it.
        const isRow = isPut && plain.type === "ObjectExpression" && isFixedRow(plain);
        visit(one, { ...around, path: isRow ? holder : path, row: isRow ? ++rows : null, compared: asks });
      }
    }
  };
  const property = (node: Node, around: Around): void => {
    const name = nameOf(node);
    const value = node["value"] as Node;
    const path = [around.path, name ?? ""].filter((one) => one !== "").join(".");
    if (node["computed"] === true) visit(node["key"] as Node, around);
    if (name === null) survey.built.push(line(node.start));
    else field(path, value, around);
    const [own, plain] = [headOf(around.path), bare(value)];
    // `h.f(x)` calls the function of an object that has a name.
    if (name !== null && own !== null && around.path === `${NAME}${own}${NAME}` && isFunction(plain)) {
      functions.add(`${own}.${name}`);
      return enter(plain, around, `${own}.${name}`, { of: `${around.path}.${name}` });
    }
    visit(value, { ...around, path });
  };

  const top: Around = { path: "", tests: [], inside: null, of: null, row: null, compared: false, tool: null };
  list(body, top);
  for (const [id, { of, nth, way }] of params) {
    const [back, only] = [passed.get(of), handed.find(({ to }) => to === `${nth} of ${of}`)];
    const from = back?.over && nth === 0 ? `each ${form(back.over)}` : back ? `${nth} of ${back.of}` : only && form(only.arg);
    if (callers.get(of)?.length === 1 && from) for (const one of survey.names[id]?.slice(0, 1) ?? []) one.handed = from + way;
  }
  // What a function alters in its arguments, its caller alters.
  for (const one of altered)
    for (const { to, arg, node, around } of handed.splice(0)) {
      if (to === one) alter(rootOf(arg, true), node, around);
      else handed.push({ to, arg, node, around });
    }
  for (const { node, index, deed, caller } of reached) survey.when[index] = { deeds: waysOf(deed, caller), texts: literalsIn(node) };
  // A call in a default value or a type was not visited: it counts as unconditional.
  for (const [node, index] of sites) survey.when[index] ??= { deeds: [deedOf(node, [], top).deed], texts: [] };
  // A put into a list that a function receives is listed under that function.
  for (const { list, line: at, deed, caller } of putting.filter(({ counts }) => counts?.() !== false))
    for (const one of waysOf(deed, caller)) survey.puts.push({ ...one, list, line: at });
  for (const one of survey.literals) if (one.row !== null && columns.has(one.path.split(".").at(-1) ?? "")) one.compared = true;
  // Not the values under a key of it: a table is looked up by one of its columns.
  const deciding = new Set([...callers].flatMap(([id, all]) => (all.some(({ around }) => around.compared) ? [`${NAME}${id}${NAME}`] : [])));
  for (const one of survey.literals) if (deciding.has(one.path)) one.decides = true;
  return survey;
}

/** Literals in an expression, as text. */
const literalsIn = (node: Node): string[] => [...within(node)].flatMap((one) => (one.type === "Literal" ? [String(one["value"])] : []));
