/** The tables of the language lint: what is allowed, and what to write instead of what is not (spec/sandbox.md section 5). */

/** Syntax a script may use. Types are erased and checked by tsc. */
export const ALLOWED = new Set(
  `ExpressionStatement BlockStatement EmptyStatement IfStatement SwitchStatement SwitchCase ReturnStatement ThrowStatement BreakStatement ContinueStatement
  ForStatement ForInStatement ForOfStatement WhileStatement DoWhileStatement LabeledStatement VariableDeclaration VariableDeclarator FunctionDeclaration
  Identifier Literal TemplateLiteral TemplateElement ArrayExpression ObjectExpression Property SpreadElement RestElement UnaryExpression UpdateExpression
  BinaryExpression LogicalExpression AssignmentExpression ConditionalExpression CallExpression NewExpression MemberExpression ChainExpression
  ArrowFunctionExpression FunctionExpression SequenceExpression ParenthesizedExpression AwaitExpression AssignmentPattern ObjectPattern ArrayPattern
  TSAsExpression TSSatisfiesExpression TSNonNullExpression TSInstantiationExpression TSTypeAliasDeclaration TSInterfaceDeclaration TSInterfaceBody
  TSInterfaceHeritage TSTypeAnnotation TSTypeReference TSTypeParameterInstantiation TSTypeParameterDeclaration TSTypeParameter TSTypeLiteral
  TSPropertySignature TSMethodSignature TSIndexSignature TSCallSignatureDeclaration TSUnionType TSIntersectionType TSArrayType TSTupleType
  TSNamedTupleMember TSOptionalType TSRestType TSLiteralType TSFunctionType TSTypeOperator TSIndexedAccessType TSConditionalType TSMappedType TSTypeQuery
  TSParenthesizedType TSTemplateLiteralType TSInferType TSTypePredicate TSQualifiedName TSClassImplements`.split(/\s+/),
);

export const FORBIDDEN_SYNTAX: Record<string, string> = {
  TryStatement:
    "try/catch is not part of the language: a failure belongs to the runtime, which retries and resumes. Check the condition first with if.",
  ClassDeclaration: "Classes are not part of the language. Use plain objects and functions.",
  ClassExpression: "Classes are not part of the language. Use plain objects and functions.",
  ThisExpression: '"this" is not part of the language. Pass the value as a parameter.',
  Super: '"super" is not part of the language. Use plain functions.',
  MetaProperty: "import.meta and new.target are not part of the language.",
  ImportDeclaration: "import is not part of the language: primitives are globals. Declare their domains in uses:.",
  ImportExpression:
    "import() is not part of the language: primitives are globals. Shared logic goes to scripts/ and is called with script_run.",
  ExportNamedDeclaration: "export is not part of the language: the last expression is the result.",
  ExportDefaultDeclaration: "export is not part of the language: the last expression is the result.",
  ExportAllDeclaration: "export is not part of the language: the last expression is the result.",
  YieldExpression: "Generators are not part of the language. Return a list.",
  WithStatement: '"with" is not part of the language.',
  DebuggerStatement: "debugger is not part of the language. Use ctx_log.",
  TaggedTemplateExpression: "Tagged templates are not part of the language. Call the function with ordinary arguments.",
  Decorator: "Decorators are not part of the language.",
  PrivateIdentifier: "Classes are not part of the language. Use plain objects and functions.",
  TSEnumDeclaration: 'enum is not part of the language. Write const KINDS = ["a", "b"] as const.',
  TSModuleDeclaration: "namespace is not part of the language. Use plain objects.",
  TSTypeAssertion: "<T>x is not part of the language. Write x as T.",
  TSParameterProperty: "Parameter properties are not part of the language.",
  TSImportType: "import() types are not part of the language. The types of primitives are global.",
  TSImportEqualsDeclaration: "import is not part of the language: primitives are globals.",
  TSExportAssignment: "export is not part of the language: the last expression is the result.",
  TSDeclareFunction: "Overloads are not part of the language. Use one signature with a union.",
};

/** Globals of the realm that a script may name. */
export const GLOBALS =
  `Object Array Number parseFloat parseInt Infinity NaN undefined Boolean String RegExp Error EvalError RangeError ReferenceError SyntaxError
  TypeError URIError JSON Math Map Set Date Decimal decodeURI decodeURIComponent encodeURI encodeURIComponent isFinite isNaN input console`.split(
    /\s+/,
  );

export const CONSTRUCTORS = new Set(["Decimal", "Date", "Map", "Set", "Error", "TypeError", "RangeError", "RegExp", "Array"]);

const NO_CODE = "Code cannot be made from text.";
const NO_WORLD = "A script reaches the world only through primitives.";
const NO_TIME = "Scripts do not wait by themselves; use a trigger, or an approval.";
const NO_META = "Use plain objects and functions.";

export const FORBIDDEN_NAMES: Record<string, string> = Object.assign(Object.create(null), {
  eval: NO_CODE,
  Function: NO_CODE,
  require: NO_WORLD,
  module: NO_WORLD,
  exports: NO_WORLD,
  process: NO_WORLD,
  fetch: NO_WORLD,
  globalThis: NO_WORLD,
  window: NO_WORLD,
  global: NO_WORLD,
  self: NO_WORLD,
  Buffer: NO_WORLD,
  WebAssembly: NO_WORLD,
  setTimeout: NO_TIME,
  setInterval: NO_TIME,
  setImmediate: NO_TIME,
  queueMicrotask: NO_TIME,
  clearTimeout: NO_TIME,
  clearInterval: NO_TIME,
  Promise: "Primitives answer at once: drop Promise and await.",
  Proxy: NO_META,
  Reflect: NO_META,
  Symbol: NO_META,
  WeakRef: NO_META,
  WeakMap: "Use Map.",
  WeakSet: "Use Set.",
  FinalizationRegistry: NO_META,
  arguments: "Name the parameters, or use ...rest.",
  Atomics: NO_META,
  SharedArrayBuffer: "Use a list.",
  ArrayBuffer: "Use a list.",
  DataView: "Use a list.",
  Uint8Array: "Use a list.",
  Int32Array: "Use a list.",
  Float64Array: "Use a list.",
  Intl: "Format with toLocaleString() or by hand.",
  BigInt: "Use Decimal for exact numbers.",
  performance: "Use ctx_now().",
  crypto: "Use a primitive.",
  Temporal: "Use ctx_today() and Date.",
});

/** Keys that reach behind plain data, or that make a value act by itself. */
export const FORBIDDEN_KEYS: Record<string, string> = Object.assign(Object.create(null), {
  constructor: NO_META,
  prototype: NO_META,
  // In brackets: without them it is no key, but the prototype of this table.
  ["__proto__"]: NO_META,
  caller: NO_META,
  callee: NO_META,
  __defineGetter__: NO_META,
  __defineSetter__: NO_META,
  __lookupGetter__: NO_META,
  __lookupSetter__: NO_META,
  getPrototypeOf: NO_META,
  setPrototypeOf: NO_META,
  getOwnPropertySymbols: NO_META,
  getOwnPropertyDescriptor: NO_META,
  getOwnPropertyDescriptors: NO_META,
  defineProperty: NO_META,
  defineProperties: NO_META,
  fromAsync: "Primitives answer at once: use Array.from.",
  // biome-ignore lint/suspicious/noThenProperty: the key of a table, never awaited.
  then: "An object with then looks like a promise; choose another key.",
  toJSON: "The encoder never calls it; write the plain value.",
});
