/**
 * One call of a tool: checked, carried out once, logged. A write, its log line and the answer kept for its idempotency key are one
 * transaction; whoever dies after it finds the write, and the same key answers what it answered.
 */
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { OPERATIONS_ACTS } from "./acts/operations.ts";
import { PEOPLE_ACTS } from "./acts/people.ts";
import { PURCHASING_ACTS } from "./acts/purchasing.ts";
import { SALES_ACTS } from "./acts/sales.ts";
import { inTransaction, type Json, type Params, Refused } from "./business.ts";
import { parseModes } from "./modes.ts";
import { READERS } from "./readers.ts";
import { inputSchema, text, type Tool, type World } from "./tool.ts";

/** What the server lists, by name. */
export const TOOLS: Tool[] = [...READERS, ...PURCHASING_ACTS, ...PEOPLE_ACTS, ...SALES_ACTS, ...OPERATIONS_ACTS].sort((a, b) =>
  a.name < b.name ? -1 : 1,
);

/** Answers calls but is not listed: for tests. */
const SET_MODE: Tool = {
  name: "set_mode",
  description: "How the server misbehaves from now on.",
  effect: "read",
  fields: { mode: { ...text("as for --mode"), minLength: 0 } },
  run: ({ modes }, { mode }) => Object.assign(modes, parseModes(String(mode))) as unknown as Json,
};

const byName = new Map([...TOOLS, SET_MODE].map((tool) => [tool.name, tool]));
const validator = new AjvJsonSchemaValidator();
const checks = new Map<string, ReturnType<typeof validator.getValidator>>();

/** @throws Refused with the text a caller may read */
export function callTool(world: World, name: string, params: Params): Json {
  const tool = byName.get(name);
  if (tool === undefined) throw new Refused(`tool ${name} not found`);
  const check = checks.get(name) ?? validator.getValidator(inputSchema(tool));
  checks.set(name, check);
  const checked = check(params);
  if (!checked.valid) throw new Refused(`${name}: ${checked.errorMessage}`);
  return tool.effect === "read" ? tool.run(world, params) : write(world, tool, params);
}

function write(world: World, tool: Tool, params: Params): Json {
  const { db, modes } = world;
  const { idempotency_key: given, ...own } = params;
  const key = given === undefined ? null : String(given);
  const asText = JSON.stringify(Object.fromEntries(Object.entries(own).sort(([a], [b]) => (a < b ? -1 : 1))));
  let answer: Json = null;
  let acted = false;
  const act = (): void => {
    const known = key === null ? undefined : db.prepare("select tool, params, answer from answered where idempotency_key = ?").get(key);
    if (known !== undefined) {
      if (known["tool"] !== tool.name || known["params"] !== asText) throw new Refused(`idempotency key ${key} was used for another call`);
      answer = JSON.parse(String(known["answer"])) as Json;
      return;
    }
    answer = tool.run(world, own);
    db.prepare("insert into change_log (tool, params, idempotency_key) values (?, ?, ?)").run(tool.name, asText, key);
    if (key !== null) db.prepare("insert into answered values (?, ?, ?, ?)").run(key, tool.name, asText, JSON.stringify(answer));
    if (modes.lying) throw UNDONE;
    acted = true;
  };
  try {
    inTransaction(db, act);
  } catch (error) {
    if (error !== UNDONE) throw error;
  }
  if (modes.dying && acted) process.exit(1);
  if (modes.erring && acted) throw new Refused("the request could not be completed");
  return answer;
}

/** Thrown to take a write back that the answer claims. */
const UNDONE = new Error("undone");
