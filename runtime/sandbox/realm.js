/**
 * Runs inside the isolate, in each fresh context or in the snapshot it is made of, before any script: captures the intrinsics, removes
 * what is not deterministic or could make code, and leaves the globals that a script may use. Everything below uses captured functions only,
 * because the script may change any prototype. The door passed to `__enter` is the one way out: text and numbers in, text out.
 * Size: one closure, because its captured functions must not be reachable from anywhere else.
 */
(function () {
  "use strict";
  const global = globalThis;
  let door = null;
  const { freeze, keys, create, hasOwn, getPrototypeOf, defineProperty, getOwnPropertyNames, getOwnPropertyDescriptor } = Object;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const RealError = Error;
  const RealDate = Date;
  const { isArray } = Array;
  let isError = Error.isError;
  const { stringify, parse } = JSON;
  const ObjectProto = Object.prototype;
  const FunctionProto = Function.prototype;
  const DateProto = Date.prototype;
  const RangeProto = RangeError.prototype;
  const isoOf = uncurry(Date.prototype.toISOString);
  const timeOf = uncurry(Date.prototype.getTime);
  const slice = uncurry(String.prototype.slice);
  const charCode = uncurry(String.prototype.charCodeAt);
  const toFixed = uncurry(Number.prototype.toFixed);
  const bigText = uncurry(BigInt.prototype.toString);
  const lower = uncurry(String.prototype.toLowerCase);
  const upper = uncurry(String.prototype.toUpperCase);
  const normalize = uncurry(String.prototype.normalize);
  const { abs } = Math;
  const { ownKeys } = Reflect;
  // Reachable from values, though no global names them; V8 has constructors for some that the list of globals omits.
  const hidden = [function () {}, function* () {}, async function () {}, async function* () {}].map(getPrototypeOf);
  for (const name of getOwnPropertyNames(global)) hidden.push(getOwnPropertyDescriptor(global, name).value);
  for (const iterator of ["".matchAll(/x/g), ""[Symbol.iterator](), [].values(), new Map().keys(), new Set().keys()])
    hidden.push(iterator, ...(iterator.map ? [iterator.map(abs), Iterator.from({ next: abs })] : []));
  // Each error has this pair of accessors as its own.
  const { get: stackOf, set: setStack } = getOwnPropertyDescriptor(new Error(), "stack");
  hidden.push(stackOf, setStack);
  const known = new WeakMap();
  const remember = uncurry(WeakMap.prototype.set).bind(null, known);
  const recall = uncurry(WeakMap.prototype.get).bind(null, known);
  const lock = (target, name, value) =>
    defineProperty(target, name, { __proto__: null, value, writable: false, enumerable: false, configurable: false });
  const replace = (target, name, value) =>
    defineProperty(target, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

  // ---- errors the runtime raises itself. Only those in `known` keep a code: a script cannot forge one.
  const raise = (code, message) => {
    const error = new RealError(message);
    replace(error, "code", code);
    remember(error, `{"code":${stringify(code)},"message":${stringify(message)}}`);
    return error;
  };
  // ---- stacks: without the frames of this file and of decimal.js, so that a script sees nothing of the code that runs it.
  const PREFIX = '"use strict";__run('.length;
  let locating = false;
  // Without getters: a getter of the script that ran here would see V8's own stacks.
  const plainText = (one, key) => {
    for (let at = one; at !== null; at = getPrototypeOf(at)) {
      const found = getOwnPropertyDescriptor(at, key);
      if (found !== undefined) return hasOwn(found, "value") && typeof found.value === "string" ? found.value : "";
    }
    return "";
  };
  const stackText = (error, sites) => {
    let text = "";
    for (let i = 0; i < sites.length; i++) {
      const site = sites[i];
      const file = site.getFileName();
      const line = site.getLineNumber();
      const column = site.getColumnNumber();
      // Second condition: the code that rewrite.ts puts before each script calls __run from there.
      if (file === "realm" || file === "decimal" || (line === 1 && column <= PREFIX)) continue;
      // Frames contain names chosen by the script; for the place of a call its first frame is enough.
      if (!locating) text += `\n    at ${site.toString()}`;
      else if (typeof file === "string") return ` ${file}:${line}:${column}`;
    }
    if (locating) return text;
    const message = plainText(error, "message");
    return plainText(error, "name") + (message === "" ? "" : `: ${message}`) + text;
  };
  lock(RealError, "captureStackTrace", () => undefined);
  const here = () => {
    locating = true;
    try {
      return new RealError().stack;
    } finally {
      locating = false;
    }
  };
  const limit = (code, message) => door(3, code, message, here());

  // ---- encoder: one walk, each value read once, never toJSON, iterators or prototypes of the script.
  let why = "";
  let path = "";
  let room = 0;
  let maxChars = 0;
  const BAD = freeze({ __proto__: null });
  const refuse = (text) => {
    why = text;
    path = "";
    throw BAD;
  };
  const tooLarge = () => {
    limit("LIMIT_BYTES", `A value is larger than the limit of ${maxChars} bytes.`);
    throw BAD;
  };
  const quoted = { __proto__: null };
  let quotedCount = 0;
  const quote = (key) => {
    if (key === "__proto__") refuse('has a key "__proto__"');
    const text = stringify(key) + ":";
    if (quotedCount < 2000 && key.length < 64) {
      quotedCount++;
      quoted[key] = text;
    }
    return text;
  };
  const number = (value) => (value - value === 0 ? "" + value : refuse(`is ${value}, which JSON does not have`));
  const plainDecimal = (value) => {
    let text;
    try {
      text = decimalText(value);
    } catch {
      refuse("is not a whole Decimal");
    }
    if (typeof text !== "string" || text.length === 0) refuse("is not a whole Decimal");
    let point = false;
    for (let i = text[0] === "-" ? 1 : 0; i < text.length; i++) {
      const c = charCode(text, i);
      if (c === 46 && !point) point = true;
      else if (c < 48 || c > 57) refuse(`is the Decimal ${slice(text, 0, 20)}, which has no plain text`);
    }
    if ((room -= text.length) < 0) tooLarge();
    return text === "-0" ? '"0"' : `"${text}"`;
  };
  const special = (value, proto) => {
    if (proto === DateProto) {
      let time;
      try {
        time = timeOf(value);
      } catch {
        refuse("is not a real Date");
      }
      return time - time === 0 ? `"${isoOf(value)}"` : refuse("is an invalid Date");
    }
    if (proto === DecimalProto) return plainDecimal(value);
    if (isError(value)) return refuse("is an Error; pass its message");
    return refuse("is a class instance (Map, Set, RegExp, ...); pass a plain object or a list");
  };
  const encode = (value, depth) => {
    if (--room < 0) tooLarge();
    switch (typeof value) {
      case "string":
        if ((room -= value.length) < 0) tooLarge();
        return stringify(value);
      case "number":
        return number(value);
      case "boolean":
        return value ? "true" : "false";
      case "undefined":
        room -= 4;
        return "null";
      case "object":
        break;
      default:
        refuse(`is a ${typeof value}`);
    }
    if (value === null) return "null";
    if (depth > 64) refuse("is nested deeper than 64, or contains itself");
    if (isArray(value)) {
      const length = value.length;
      let text = "[";
      let i = 0;
      try {
        for (; i < length; i++) text += i === 0 ? encode(value[i], depth + 1) : "," + encode(value[i], depth + 1);
      } catch (error) {
        if (error === BAD) path = `[${i}]${path}`;
        throw error;
      }
      return text + "]";
    }
    const proto = getPrototypeOf(value);
    if (proto !== ObjectProto && proto !== null) return special(value, proto);
    const names = keys(value);
    const count = names.length;
    let text = "{";
    let key = "";
    try {
      for (let i = 0; i < count; i++) {
        key = names[i];
        const field = value[key];
        if (field === undefined) continue;
        room -= key.length;
        if (text !== "{") text += ",";
        text += quoted[key] ?? quote(key);
        // The common case inline: rows are flat objects of text.
        if (typeof field === "string") {
          if ((room -= field.length + 1) < 0) tooLarge();
          text += stringify(field);
        } else text += encode(field, depth + 1);
      }
    } catch (error) {
      if (error === BAD) path = `.${slice(key, 0, 60)}${path}`;
      throw error;
    }
    return text + "}";
  };
  const toJson = (value, what) => {
    // A getter of the value may call a primitive: each value has its own room.
    const outer = room;
    room = maxChars;
    try {
      return encode(value, 0);
    } catch (error) {
      if (error !== BAD) throw error;
    } finally {
      room = outer;
    }
    throw raise("SCRIPT_RESULT", `${what}${path} ${why}.`);
  };

  // ---- the door
  let state = "idle";
  let live = false;
  let places = false;
  let now = 0;
  let depth = 0;
  let sealed = false;
  const subs = { __proto__: null };
  const cross = (name, params) => {
    if (state !== "running") throw raise("SCRIPT_ERROR", `${name} is called after the script has ended.`);
    let text = door(1, name, params, places && live ? here() : undefined);
    // The child asks for the place of a call that ends the run; this call does not return.
    if (text === undefined) text = door(2, here());
    const answer = parse(text);
    now = answer[0];
    live = answer[1];
    return answer[2];
  };
  const isPlain = (value) => {
    if (typeof value !== "object" || value === null || isArray(value)) return false;
    const proto = getPrototypeOf(value);
    return proto === ObjectProto || proto === null;
  };
  const primitive = (name, bare) => {
    const stub = {
      [name](first) {
        if (arguments.length > 1) throw raise("PARAMS_INVALID", `${name} takes one object, but got ${arguments.length} arguments.`);
        let params = first;
        if (first === undefined) params = {};
        else if (!isPlain(first)) {
          if (bare === null) throw raise("PARAMS_INVALID", `${name} takes one object such as { key: value }.`);
          params = { __proto__: null, [bare]: first };
        }
        return cross(name, toJson(params, name + " params"));
      },
    }[name];
    return stub;
  };
  const scriptRun = (name, bare) => {
    const call = primitive(name, bare);
    return function script_run(target, params) {
      // The seeds write script_run("round", {...}); { name, params } is the same call.
      const request = isPlain(target)
        ? { __proto__: null, name: target.name, params: target.params }
        : { __proto__: null, name: target, params };
      if (typeof request.name !== "string")
        throw raise("PARAMS_INVALID", "script_run takes the name of a file in scripts/ and its params.");
      if (request.params === undefined) request.params = {};
      const copy = toJson(request, "script_run params");
      call(parse(copy));
      const run = subs[request.name];
      if (run === undefined) throw raise("SCRIPT_MISSING", `There is no scripts/${slice(request.name, 0, 80)}.ts at this commit.`);
      if (depth >= 16) throw raise("LIMIT_DEPTH", "script_run is nested deeper than 16.");
      depth++;
      try {
        return parse(toJson(run(parse(copy).params), `result of ${request.name}`));
      } finally {
        depth--;
      }
    };
  };

  // ---- clock and random
  const Clock = function Date(a, b, c, d, e, f, g) {
    if (new.target === undefined) return "" + new RealDate(now);
    switch (arguments.length) {
      case 0:
        return new RealDate(now);
      case 1:
        return new RealDate(a);
      case 2:
        return new RealDate(a, b);
      case 3:
        return new RealDate(a, b, c);
      case 4:
        return new RealDate(a, b, c, d);
      case 5:
        return new RealDate(a, b, c, d, e);
      case 6:
        return new RealDate(a, b, c, d, e, f);
      default:
        return new RealDate(a, b, c, d, e, f, g);
    }
  };
  lock(Clock, "prototype", DateProto);
  lock(Clock, "parse", RealDate.parse);
  lock(Clock, "UTC", RealDate.UTC);
  lock(Clock, "now", () => now);
  lock(DateProto, "constructor", Clock);
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    replace(DateProto, name, () => {
      throw raise("SCRIPT_ERROR", `Date.${name} depends on the machine; use .toISOString().slice(0, 10) or ctx_today().`);
    });
  }
  let s0 = 1,
    s1 = 2,
    s2 = 3,
    s3 = 4;
  // sfc32 (PractRand): small, fast, passes its own test suite; not for secrets.
  lock(Math, "random", () => {
    if (sealed) throw raise("SCRIPT_ERROR", "Math.random is not for tools: the same parameters give the same result.");
    const t = (s0 + s1 + s3) | 0;
    s3 = (s3 + 1) | 0;
    s0 = s1 ^ (s1 >>> 9);
    s1 = (s2 + (s2 << 3)) | 0;
    s2 = (((s2 << 21) | (s2 >>> 11)) + t) | 0;
    return (t >>> 0) / 4294967296;
  });

  // ---- text that would depend on the machine's language: fixed to en-US
  const grouped = (digits) => {
    let text = "";
    for (let i = 0; i < digits.length; i++) text += (i > 0 && (digits.length - i) % 3 === 0 ? "," : "") + digits[i];
    return text;
  };
  replace(Number.prototype, "toLocaleString", function toLocaleString(_locale, options) {
    const value = +this;
    if (value !== value) return "NaN";
    const style = options?.style ?? "decimal";
    if (style !== "decimal" && style !== "percent" && !(style === "currency" && options.currency === "USD")) {
      throw raise(
        "SCRIPT_ERROR",
        'toLocaleString knows the styles "decimal", "percent" and "currency" with USD; write other signs yourself.',
      );
    }
    const least = options?.minimumFractionDigits ?? (style === "currency" ? 2 : 0);
    const base = style === "currency" ? 2 : style === "percent" ? 0 : 3;
    const most = options?.maximumFractionDigits ?? (base > least ? base : least);
    const size = abs(value) * (style === "percent" ? 100 : 1);
    if (size >= 1e21) return "" + value;
    let text = toFixed(size, most);
    let end = text.length;
    if (most > least) {
      while (end > text.length - most + least && text[end - 1] === "0") end--;
      if (text[end - 1] === ".") end--;
    }
    text = slice(text, 0, end);
    let point = 0;
    while (point < text.length && text[point] !== ".") point++;
    const whole = options?.useGrouping === false ? slice(text, 0, point) : grouped(slice(text, 0, point));
    return (value < 0 ? "-" : "") + (style === "currency" ? "$" : "") + whole + slice(text, point) + (style === "percent" ? "%" : "");
  });
  const folded = (text) => {
    const parts = normalize(text, "NFD");
    let out = "";
    for (let i = 0; i < parts.length; i++) {
      const c = charCode(parts, i);
      if (c < 0x300 || c > 0x36f) out += parts[i];
    }
    return lower(out);
  };
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const digit = (text, i) => i < text.length && charCode(text, i) >= 48 && charCode(text, i) <= 57;
  const natural = (a, b) => {
    let i = 0;
    let j = 0;
    while (i < a.length && j < b.length) {
      if (digit(a, i) && digit(b, j)) {
        let x = 0;
        let y = 0;
        for (; digit(a, i); i++) x = x * 10 + charCode(a, i) - 48;
        for (; digit(b, j); j++) y = y * 10 + charCode(b, j) - 48;
        if (x !== y) return x < y ? -1 : 1;
      } else if (a[i] !== b[j]) return a[i] < b[j] ? -1 : 1;
      else {
        i++;
        j++;
      }
    }
    return order(a.length - i, b.length - j);
  };
  // Letters before case and accents, lower case first, like en-US for names; not the full Unicode collation.
  replace(String.prototype, "localeCompare", function localeCompare(other, _locale, options) {
    const a = `${this}`;
    const b = `${other}`;
    const first = (options?.numeric === true ? natural : order)(folded(a), folded(b));
    if (first !== 0 || options?.sensitivity === "base") return first;
    return order(lower(a), lower(b)) || -order(a, b);
  });
  replace(BigInt.prototype, "toLocaleString", function toLocaleString() {
    return bigText(this);
  });
  replace(String.prototype, "toLocaleLowerCase", function toLocaleLowerCase() {
    return lower(`${this}`);
  });
  replace(String.prototype, "toLocaleUpperCase", function toLocaleUpperCase() {
    return upper(`${this}`);
  });

  // ---- access behind plain data: prototypes by name, errors caught without a catch, the text of our own functions
  const noProto = () => {
    throw raise("SCRIPT_ERROR", '"__proto__" is not part of the language. Use plain objects and functions.');
  };
  defineProperty(ObjectProto, "__proto__", { __proto__: null, get: noProto, set: noProto, configurable: false });
  for (const name of ["__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"]) delete ObjectProto[name];
  delete Array.fromAsync;
  replace(FunctionProto, "toString", () => "function () { [native code] }");

  // ---- no code from text: the constructors of all four kinds of function
  const noCode = function Function() {
    throw raise("SCRIPT_ERROR", "Code cannot be made from text.");
  };
  for (const sample of [function () {}, function* () {}, async function () {}, async function* () {}])
    lock(getPrototypeOf(sample), "constructor", noCode);

  // ---- Decimal: the script's own copy, frozen with everything it reaches, because a changed method would change amounts silently.
  const Decimal = global.Decimal;
  Decimal.set({ precision: 60, toExpNeg: -9e15, toExpPos: 9e15 });
  const DecimalProto = Decimal.prototype;
  const decimalText = uncurry(DecimalProto.toFixed);
  // decimal.js computes these with `+x` and changes its precision meanwhile: they work on a copy that no script can reach.
  const Working = Decimal.clone();
  Working.prototype = create(DecimalProto, { valueOf: { value: DecimalProto.valueOf } });
  const settle = uncurry(DecimalProto.sqrt);
  for (const names of [
    "toNumber",
    "pow toPower",
    "sqrt squareRoot",
    "cbrt cubeRoot",
    "exp naturalExponential",
    "ln naturalLogarithm",
    "log logarithm",
  ]) {
    const [name] = names.split(" ");
    const compute = uncurry(DecimalProto[name]);
    const method = {
      [name](other) {
        try {
          const value = compute(new Working(this), other);
          return typeof value === "number" ? value : new Decimal(value);
        } finally {
          Working.precision = Decimal.precision;
          Working.rounding = Decimal.rounding;
        }
      },
    }[name];
    for (const alias of names.split(" ")) replace(DecimalProto, alias, method);
  }
  replace(DecimalProto, "valueOf", () => {
    throw raise("SCRIPT_MONEY", "A Decimal is not a number: write a.plus(b), a.lt(b), a.eq(b) instead of operators.");
  });
  // decimal.js assigns `constructor` on each value; on a frozen prototype only a setter allows that.
  defineProperty(DecimalProto, "constructor", {
    __proto__: null,
    configurable: false,
    get: () => Decimal,
    set(value) {
      replace(this, "constructor", value);
    },
  });
  for (const target of [DecimalProto, Decimal]) {
    for (const name of getOwnPropertyNames(target)) {
      const value = getOwnPropertyDescriptor(target, name).value;
      if (typeof value === "function" && value !== Decimal) {
        if (value.prototype) freeze(value.prototype);
        freeze(value);
      }
    }
    freeze(target);
  }

  // ---- globals: an allow-list, so that additions of a newer V8 stay out
  const allowed = [
    "Object",
    "Array",
    "Number",
    "parseFloat",
    "parseInt",
    "Infinity",
    "NaN",
    "undefined",
    "Boolean",
    "String",
    "RegExp",
    "Error",
    "EvalError",
    "RangeError",
    "ReferenceError",
    "SyntaxError",
    "TypeError",
    "URIError",
    "JSON",
    "Math",
    "Map",
    "Set",
    "WeakMap",
    "WeakSet",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "isFinite",
    "isNaN",
  ];
  const kept = { __proto__: null };
  for (const name of allowed) kept[name] = true;
  // V8 creates some builtins only in the context itself, not in the snapshot: it needs these two globals for that, so they appear once more.
  const sweep = (spared) => {
    for (const name of getOwnPropertyNames(global)) if (kept[name] !== true && spared[name] !== true) delete global[name];
  };
  sweep({ __proto__: null, Atomics: true, Uint8Array: true });
  for (const name of ["Date", "Decimal", "__run"]) kept[name] = true;
  replace(global, "__enter", (way) => {
    door = way;
    sweep({ __proto__: null });
    delete DateProto.toTemporalInstant;
    ({ isError } = RealError);
    lock(RealError, "stackTraceLimit", 10);
    // Last: a script sees the order of keys, which must be the same in every context.
    lock(RealError, "prepareStackTrace", stackText);
  });
  lock(global, "Date", Clock);
  lock(global, "Decimal", Decimal);

  const text = (parts) => {
    let line = "";
    for (let i = 0; i < parts.length; i++)
      line += (i > 0 ? " " : "") + (typeof parts[i] === "string" ? parts[i] : toJson(parts[i], "console.log argument"));
    return line;
  };
  const begin = (job) => {
    maxChars = job.call_bytes;
    now = job.now;
    live = job.live;
    places = job.places;
    [s0, s1, s2, s3] = job.seed;
    if (sealed) {
      // A stack overflow in the middle of decimal.js leaves it without rounding; this restores it.
      settle(new Working(4));
      return;
    }
    const names = keys(job.primitives);
    let log = () => undefined;
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      const bare = job.primitives[name];
      const stub = freeze((name === "script_run" ? scriptRun : primitive)(name, bare));
      lock(global, name, stub);
      if (name === "ctx_log") {
        log = (...parts) => {
          stub(text(parts));
        };
      }
    }
    lock(global, "console", freeze({ __proto__: null, log, info: log, warn: log, error: log, debug: log }));
  };

  // ---- a sealed context serves many runs, so no run may leave anything for the next: everything a script can reach is frozen before its
  // first line. State outside of properties is removed: the last match of RegExp, and Math.random.
  const seal = () => {
    for (const name of getOwnPropertyNames(RegExp)) if (name !== "prototype" && name !== "length" && name !== "name") delete RegExp[name];
    const seen = new Set();
    const left = [global, ...hidden];
    while (left.length > 0) {
      const one = left.pop();
      if (one === null || (typeof one !== "object" && typeof one !== "function") || seen.has(one)) continue;
      seen.add(one);
      left.push(getPrototypeOf(one));
      for (const name of ownKeys(one)) {
        const { value, get, set } = getOwnPropertyDescriptor(one, name);
        left.push(value, get, set);
      }
      freeze(one);
    }
    sealed = true;
  };
  const describe = (error) => {
    const wire = typeof error === "object" && error !== null ? recall(error) : undefined;
    let stack = "";
    let message = "";
    let code = "SCRIPT_ERROR";
    try {
      if (isError(error)) {
        const { stack: where, message: said, name } = error;
        if (typeof where === "string") stack = slice(where, 0, 4000);
        if (typeof said === "string") message = slice(said, 0, 2000);
        if (getPrototypeOf(error) === RangeProto && message === "Maximum call stack size exceeded") {
          code = "LIMIT_DEPTH";
          message = "The script recursed too deep.";
        } else if (typeof name === "string" && name !== "Error") message = `${slice(name, 0, 80)}: ${message}`;
      } else
        message = `The script threw ${typeof error === "string" ? slice(error, 0, 2000) : slice(toJson(error, "thrown value"), 0, 2000)}`;
    } catch {
      message ||= "The script threw something that has no text.";
    }
    if (message === "") message = "The script threw an error without a message.";
    return `E{"wire":${wire ?? `{"code":"${code}","message":${stringify(message)}}`},"stack":${stringify(stack)}}`;
  };
  // Each compiled script is `__run(function(input){...})`: a sub-script is stored, the main one runs. Its end is reported at once, because
  // promises it left behind still run afterwards and may fail.
  lock(global, "__run", (body) => {
    if (state !== "idle" && !(sealed && state === "ended")) throw raise("SCRIPT_ERROR", "__run is not for scripts.");
    const job = parse(door(0));
    if (job.load !== undefined) {
      subs[job.load] = body;
      return;
    }
    begin(job);
    if (job.sealed && !sealed) seal();
    state = "running";
    try {
      const value = body(job.input);
      state = "ended";
      door(4, "R" + toJson(value, "result"));
    } catch (error) {
      state = "ended";
      door(4, describe(error));
    }
  });
})();
