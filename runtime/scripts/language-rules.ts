/** The tables of the language lint: what is allowed, and what to write instead of the rest (spec/sandbox.md section 5). */

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

/** What to write instead, by each word of the rows. Without a prototype: `constructor` is a word like any other. */
const instead = (...rows: readonly (readonly [text: string, words: string])[]): Readonly<Record<string, string>> =>
  Object.assign(Object.create(null), Object.fromEntries(rows.flatMap(([text, words]) => words.split(/\s+/).map((word) => [word, text]))));

export const FORBIDDEN_SYNTAX = instead(
  [
    "try/catch is not part of the language: a failure belongs to the runtime, which retries and resumes. Check the condition first with if.",
    "TryStatement",
  ],
  ["Classes are not part of the language. Use plain objects and functions.", "ClassDeclaration ClassExpression PrivateIdentifier"],
  ['"this" is not part of the language. Pass the value as a parameter.', "ThisExpression"],
  ['"super" is not part of the language. Use plain functions.', "Super"],
  ["import.meta and new.target are not part of the language.", "MetaProperty"],
  ["import is not part of the language: primitives are globals. Declare their domains in uses:.", "ImportDeclaration"],
  ["import() is not part of the language: primitives are globals. Put shared logic in scripts/ and call script_run.", "ImportExpression"],
  [
    "export is not part of the language: the last expression is the result.",
    "ExportNamedDeclaration ExportDefaultDeclaration ExportAllDeclaration TSExportAssignment",
  ],
  ["Generators are not part of the language. Return a list.", "YieldExpression"],
  ['"with" is not part of the language.', "WithStatement"],
  ["debugger is not part of the language. Use ctx_log.", "DebuggerStatement"],
  ["Tagged templates are not part of the language. Call the function with ordinary arguments.", "TaggedTemplateExpression"],
  ["Decorators are not part of the language.", "Decorator"],
  ['enum is not part of the language. Write const KINDS = ["a", "b"] as const.', "TSEnumDeclaration"],
  ["namespace is not part of the language. Use plain objects.", "TSModuleDeclaration"],
  ["<T>x is not part of the language. Write x as T.", "TSTypeAssertion"],
  ["Parameter properties are not part of the language.", "TSParameterProperty"],
  ["import() types are not part of the language. The types of primitives are global.", "TSImportType"],
  ["import is not part of the language: primitives are globals.", "TSImportEqualsDeclaration"],
  ["Overloads are not part of the language. Use one signature with a union.", "TSDeclareFunction"],
);

/** Globals of the realm that a script may name. */
export const GLOBALS =
  `Object Array Number parseFloat parseInt Infinity NaN undefined Boolean String RegExp Error EvalError RangeError ReferenceError SyntaxError
  TypeError URIError JSON Math Map Set Date Decimal decodeURI decodeURIComponent encodeURI encodeURIComponent isFinite isNaN input console`.split(
    /\s+/,
  );

export const CONSTRUCTORS = new Set(["Decimal", "Date", "Map", "Set", "Error", "TypeError", "RangeError", "RegExp", "Array"]);

const NO_META = "Use plain objects and functions.";

export const FORBIDDEN_NAMES = instead(
  ["Code cannot be made from text.", "eval Function"],
  ["Only primitives reach the world.", "require module exports process fetch globalThis window global self Buffer WebAssembly"],
  ["Scripts cannot wait; use a trigger, or an approval.", "setTimeout setInterval setImmediate queueMicrotask clearTimeout clearInterval"],
  ["Primitives answer at once: drop Promise and await.", "Promise"],
  [NO_META, "Proxy Reflect Symbol WeakRef FinalizationRegistry Atomics"],
  ["Use Map.", "WeakMap"],
  ["Use Set.", "WeakSet"],
  ["Name the parameters, or use ...rest.", "arguments"],
  ["Use a list.", "SharedArrayBuffer ArrayBuffer DataView Uint8Array Int32Array Float64Array"],
  ["Format with toLocaleString() or by hand.", "Intl"],
  ["Use Decimal for exact numbers.", "BigInt"],
  ["Use ctx_now().", "performance"],
  ["Use a primitive.", "crypto"],
  ["Use ctx_today() and Date.", "Temporal"],
);

/** Keys that reach behind plain data, or that make a value active. */
export const FORBIDDEN_KEYS = instead(
  [
    NO_META,
    `constructor prototype __proto__ caller callee __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ getPrototypeOf setPrototypeOf
    getOwnPropertySymbols getOwnPropertyDescriptor getOwnPropertyDescriptors defineProperty defineProperties`,
  ],
  ["Primitives answer at once: use Array.from.", "fromAsync"],
  ["An object with then looks like a promise; choose another key.", "then"],
  ["The encoder never calls it; write the plain value.", "toJSON"],
);
