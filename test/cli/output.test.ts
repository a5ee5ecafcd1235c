/** What reaches a terminal: columns that stand, bars that count, text that cannot move the cursor. */
import { afterEach, expect, test, vi } from "vitest";
import { createOutput, table } from "../../runtime/cli/output.ts";
import { progressLine } from "../../runtime/cli/progress.ts";

const tty = process.stdout.isTTY;
afterEach(() => {
  process.stdout.isTTY = tty;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function printed(isTTY: boolean, text: (output: ReturnType<typeof createOutput>) => string): string {
  process.stdout.isTTY = isTTY;
  let all = "";
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    all += String(chunk);
    return true;
  });
  const output = createOutput(false);
  output.line(text(output));
  return all;
}

test("columns are padded to visible width, whatever their colors", () => {
  const red = (text: string) => `\u001b[31m${text}\u001b[0m`;
  expect(
    table([
      ["a", red("failed"), "x"],
      ["bb", "ok", "y"],
    ]),
  ).toEqual([`a   ${red("failed")}  x`, "bb  ok      y"]);
});

test("colors are used on terminals only, and NO_COLOR disables them there", () => {
  expect(printed(true, (output) => output.red("no"))).toBe("\u001b[31mno\u001b[0m\n");
  expect(printed(false, (output) => output.red("no"))).toBe("no\n");
  vi.stubEnv("NO_COLOR", "1");
  expect(printed(true, (output) => output.red("no"))).toBe("no\n");
});

test("text from a bank or script cannot move the cursor, ring the bell, or reverse the line", () => {
  const hostile = "ACME\u001b[2J\u001b]0;title\u0007\r\u202Egnp.exe";
  expect(printed(true, () => hostile)).toBe("ACME\\u001b[2J\\u001b]0;title\\u0007\\u000d\\u202egnp.exe\n");
  expect(printed(false, () => `${hostile}\u001b[31m`)).not.toMatch(/\p{Cc}(?<!\n)/u);
});

test("a word with look-alike letters is marked, and words of one alphabet are unchanged", () => {
  expect(printed(true, () => "Pay \u0410CME of Москва, Ελλάς, Zürich")).toBe("Pay \\u0410CME of Москва, Ελλάς, Zürich\n");
});

test("a text cannot hide what follows it, and JSON for a terminal moves no cursor", () => {
  expect(printed(true, () => "Pay 5\u001b[8m and 5000")).toBe("Pay 5\\u001b[8m and 5000\n");
  let all = "";
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => Boolean((all += String(chunk))));
  const value = { title: "a\u009b2Jb\u007f\u202e", n: 1 };
  createOutput(true).result(value);
  expect(all).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
  expect(JSON.parse(all)).toEqual(value);
});

test("a line stays one line: no title can forge another one", () => {
  for (const end of ["\n", "\r", "\r\n", "\u2028", "\u2029", "\u0085", "\u000b", "\u000c"]) {
    const title = `Pay ACME${end}${end}17  approved  Pay Mallory 9000.00`;
    const [row = ""] = table([["16", "open", title]]);
    const all = printed(false, () => row);
    expect(all.split(/[\n\r\u2028\u2029\u0085\v\f]/), JSON.stringify(end)).toHaveLength(2);
    expect(all).toMatch(/^16 {2}open {2}Pay ACME\\/);
  }
});

test("emoji are unchanged, and what hides in them is shown", () => {
  expect(printed(false, () => "👩‍💻 ❤️ 👩\u200d\u200dx\ufe0f")).toBe("👩‍💻 ❤️ 👩\\u200d\\u200dx\\ufe0f\n");
});

test("a bar counts files if their number is known, else it shows activity", () => {
  vi.stubEnv("NO_COLOR", undefined);
  expect(progressLine({ calls: 10, files: 1 }, 4, 3200)).toBe("[=====>                  ] 1/4 files, 10 calls, 3 s");
  expect(progressLine({ calls: 7, files: 4 }, 4, 1000)).toBe(`[${"=".repeat(23)}>] 4/4 files, 7 calls, 1 s`);
  expect(progressLine({ calls: 7, files: 0 }, null, 1000)).toBe("[     <=>                ] 7 calls, 1 s");
});
