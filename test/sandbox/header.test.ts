/** Script headers: what is read, and where and how each mistake is told. */
import { expect, test } from "vitest";
import { ClearedError, formatAt } from "../../runtime/kernel/errors.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";
import { validateInput } from "../../runtime/scripts/fields.ts";

const FILE = "agents/x.ts";
const read = (yaml: string) => parseHeader(`/*\n${yaml}\n*/\nctx_log("x");`, FILE);

function refusal(source: string): { code: string; at: string; message: string } {
  try {
    parseHeader(source, FILE);
  } catch (error) {
    if (!(error instanceof ClearedError)) throw error;
    return { code: error.code, at: error.at === undefined ? "" : formatAt(error.at), message: error.message };
  }
  throw new Error("the header was accepted");
}

test("a full header is read with its defaults", () => {
  expect(
    read(
      "name: Daily\ntrigger: [schedule, file_watch, schedule]\nschedule: 0 6 * * *\ntimezone: America/New_York\nwatch: import/\nuses: [journal, echo]",
    ),
  ).toEqual({
    name: "Daily",
    description: "",
    trigger: ["schedule", "file_watch"],
    schedule: "0 6 * * *",
    timezone: "America/New_York",
    watch: "import/",
    uses: ["journal", "echo"],
    input: {},
    missed: "run-once",
    output: {},
    answer: "object",
    examples: [],
    machine: null,
  });
  expect(read("name: One\ntrigger: on_demand").trigger).toEqual(["on_demand"]);
});

test("the comment may be one line, starred, or follow line comments and a byte order mark", () => {
  expect(parseHeader("/* name: One */ 1", FILE).name).toBe("One");
  expect(parseHeader("/**\n * name: Star\n * uses:\n *   - journal\n */", FILE)).toMatchObject({ name: "Star", uses: ["journal"] });
  expect(parseHeader("\ufeff// a note\n\n/*\r\nname: Late\r\n*/", FILE).name).toBe("Late");
});

test("a test script may omit its name", () => {
  expect(read("expect: {status: failed, code: LIMIT_CPU}")).toMatchObject({ name: "x", expect: { status: "failed", code: "LIMIT_CPU" } });
  expect(read("expect: {status: done, result: {a: [1, null]}}").expect?.result).toEqual({ a: [1, null] });
});

test.each<[string, string, string, RegExp]>([
  ["/*\nname: A\nshedule: 0 6 * * *\n*/", "SCRIPT_HEADER", `${FILE}:3:1`, /Unknown key "shedule"\. Did you mean "schedule"\?/],
  ["/* name: A\n*/ 1;/* x */", "", "", /./],
  ["const a = 1;", "SCRIPT_HEADER", `${FILE}:1:1`, /no header comment/],
  ["/* name: A", "SCRIPT_HEADER", `${FILE}:1:1`, /not closed/],
  ["/*\ndescription: x\n*/", "SCRIPT_HEADER", `${FILE}:2:1`, /no name:/],
  ["/*\n*/", "SCRIPT_HEADER", `${FILE}:1:3`, /no name:/],
  ["/*\nname: A\ntrigger: cron\n*/", "SCRIPT_HEADER", `${FILE}:3:1`, /"cron" is not a known trigger/],
  ["/*\nname: A\ntrigger: [on_demand, mail]\n*/", "SCRIPT_HEADER", `${FILE}:3:22`, /"mail" is not a known trigger/],
  ["/*\nname: A\ntrigger: webhook\n*/", "HEADER_TRIGGER", `${FILE}:3:1`, /needs the key webhook:/],
  ["/*\nname: A\nstates: [ASSESS, MUTATE]\n*/", "FSM_MACHINE", `${FILE}:3:1`, /MUTATE needs POLICY_CHECK before it/],
  ["/*\nname: A\nstates: [ASESS]\n*/", "SCRIPT_HEADER", `${FILE}:3:1`, /"ASESS" is not a known state. Did you mean "ASSESS"/],
  ["/*\nname: A\nrisk: high\nstates: [POLICY_CHECK, MUTATE]\n*/", "FSM_MACHINE", `${FILE}:4:1`, /APPROVAL_GATE right before MUTATE/],
  ["/*\nname: A\ntrigger: schedule\n*/", "HEADER_TRIGGER", `${FILE}:3:1`, /needs the key schedule:/],
  ["/*\nname: A\ntrigger: event\n*/", "HEADER_TRIGGER", `${FILE}:3:1`, /needs the key on_event:/],
  ["/*\nname: A\ntimezone: Mars/Base\n*/", "SCRIPT_HEADER", `${FILE}:3:1`, /no such time zone/],
  ["/*\nname: A\nwatch: ../x\n*/", "SCRIPT_HEADER", `${FILE}:3:1`, /folder inside the workspace/],
  ["/*\nname: A\nuses: journal\n*/", "SCRIPT_HEADER", `${FILE}:3:1`, /write a list/],
  ["/*\nname: A\nname: B\n*/", "SCRIPT_HEADER", `${FILE}:3:1`, /Not valid YAML/],
  ["/*\nname: &a A\ndescription: *a\n*/", "SCRIPT_HEADER", `${FILE}:2:10`, /references/],
  ["/*\nname: !!js/function x\n*/", "SCRIPT_HEADER", `${FILE}:2:7`, /Not valid YAML/],
  ["/*\nname: A\ninput:\n  amount: {typ: money}\n*/", "SCRIPT_HEADER", `${FILE}:4:11`, /type/],
  ["/*\nname: A\ninput:\n  n: {type: integer, default: 1.5}\n*/", "SCRIPT_HEADER", `${FILE}:4:22`, /1\.5 is not a whole number/],
  ["/**\n * name: A\n * usess: []\n */", "SCRIPT_HEADER", `${FILE}:3:4`, /Did you mean "uses"/],
  [`/*\nname: ${"A".repeat(20_000)}\n*/`, "SCRIPT_HEADER", FILE, /not closed|long/],
  [`/*\nname: A\nexpect: ${"[".repeat(3000)}\n*/`, "SCRIPT_HEADER", "", /./],
  [`/*\nname: A\nexpect: {status: done, result: ${"[".repeat(40)}${"]".repeat(40)}}\n*/`, "SCRIPT_HEADER", "", /nested deeper/],
])("mistake %# is refused at its place", (source, code, at, words) => {
  if (code === "") return void expect(parseHeader(source, FILE).name).toBe("A");
  const said = refusal(source);
  expect(said.code).toBe(code);
  if (at !== "") expect(said.at).toBe(at);
  expect(said.message).toMatch(words);
});

test("hostile headers fail fast and with a code", () => {
  const started = performance.now();
  for (const text of [
    "- ".repeat(8000),
    "{".repeat(16_000),
    "? ".repeat(8000),
    "a: ".repeat(5000),
    "!".repeat(16_000),
    `"${"\\u0000".repeat(2000)}`,
    `name: |\n${" \n".repeat(8000)}`,
    "[a,".repeat(5000),
  ]) {
    expect(refusal(`/*\n${text}\n*/`).code).toBe("SCRIPT_HEADER");
  }
  expect(performance.now() - started).toBeLessThan(20_000);
});

const form = read(
  [
    "name: Pay",
    "input:",
    "  amount: {type: money, required: true}",
    "  day: {type: date}",
    "  kind: {type: string, enum: [rent, wage], default: rent}",
    "  count: {type: integer, default: 3}",
    "  ratio: {type: number}",
    "  live: {type: boolean}",
    "  rows: {type: list}",
    "  more: {type: object}",
  ].join("\n"),
);

test("input is completed with defaults", () => {
  expect(validateInput(form, { amount: "12.50", live: false })).toEqual({ amount: "12.50", kind: "rent", count: 3, live: false });
  expect(validateInput(read("name: Free"), { any: [1] })).toEqual({ any: [1] });
  expect(validateInput(read("name: Free"), null)).toEqual({});
});

test.each<[unknown, RegExp]>([
  [{}, /field "amount" is missing/],
  [{ amount: 12.5 }, /amount: 12\.5 is not an amount as text/],
  [{ amount: "1e3" }, /amount:/],
  [{ amount: null }, /amount:/],
  [{ amount: "1", amout: "2" }, /unknown field "amout"\. Did you mean "amount"/],
  [{ amount: "1", day: "2026-02-30" }, /day: .*calendar day/],
  [{ amount: "1", kind: "loan" }, /kind: "loan" is not one of/],
  [{ amount: "1", count: 2.5 }, /count:/],
  [{ amount: "1", rows: {} }, /rows:/],
  [{ amount: "1", more: [] }, /more:/],
  [[], /must be an object/],
  ["x", /must be an object/],
])("input %j is refused by name of the field", (input, words) => {
  expect(() => validateInput(form, input as never)).toThrow(
    expect.objectContaining({ code: "RUN_INPUT", message: expect.stringMatching(words) as string }),
  );
});
