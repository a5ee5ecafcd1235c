/** The input of a run on the command line: one JSON document, or name=value once for each field; and an example that can be pasted. */
import type { Json } from "../kernel/ports.ts";
import type { Header } from "../scripts/header.ts";
import type { InputField } from "../scripts/fields.ts";
import { IS_PAIR } from "../app/starts.ts";
import { pairsOf } from "./deciding.ts";
import { parseJson } from "./text.ts";

/** given: each --input. fieldsOf: `input:` of the header, asked for where a value has to be read by its type. @throws USAGE */
export async function inputOf(given: readonly string[], fieldsOf: () => Promise<Header["input"]>): Promise<Json> {
  const [only] = given;
  if (only === undefined || (given.length === 1 && !IS_PAIR.test(only))) return parseJson(only, "--input");
  const pairs = Object.entries(pairsOf(given));
  const fields = await fieldsOf();
  return Object.fromEntries(pairs.map(([name, text]) => [name, typed(text, Object.hasOwn(fields, name) ? fields[name] : undefined)]));
}

/** The value a text stands for. What does not fit the type stays text, and the header's check says what is wrong with it. */
function typed(text: string, field: InputField | undefined): Json {
  const type = field?.type ?? "string";
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (!["number", "integer", "list", "object"].includes(type)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // a value that is not JSON is no number, list or object
  }
}
