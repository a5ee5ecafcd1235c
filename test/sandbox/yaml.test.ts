/** YAML from anybody: it never holds the process, and what a reviewer would not see is refused in what people review. */
import { expect, test } from "vitest";
import { parseCase } from "../../runtime/change/evidence/case-file.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";
import { readYaml, writeYaml } from "../../runtime/scripts/yaml-text.ts";
import { parseConfig, parseTrust } from "../../runtime/workspace/settings/config.ts";
import { parsePack } from "../../runtime/workspace/settings/policies.ts";
import { receiptFromYaml, receiptToYaml } from "../../runtime/workspace/statements/receipt.ts";
import { parseDialects } from "../../runtime/workspace/statements/dialect.ts";

const LADDER = { ranks: [["manager"]], roles: ["manager"] };
const READERS: Record<string, (text: string) => unknown> = {
  "config.yaml": (text) => parseConfig(text),
  "trust.yaml": (text) => parseTrust(text),
  "a policy": (text) => parsePack(text, "policies/x.yaml", LADDER),
  "a dialect": (text) => parseDialects([{ path: "importers/x.yaml", text }]),
  "a case": (text) => parseCase(text, "cases/a/x.yaml"),
  "a header": (text) => parseHeader(`/*\n${text}*/\n1`, "agents/x.ts"),
};
const SIZE = 262_000;
const repeated = (unit: (i: number) => string, head = "", tail = "") => {
  const parts = [head];
  for (let i = 0, length = head.length; length < SIZE - 200; i++) length += parts[parts.push(unit(i)) - 1]?.length ?? 0;
  return parts.join("") + tail;
};
const HEAVY: Record<string, string> = {
  keys: repeated((i) => `k${i}: 1\n`),
  "keys of a section": repeated((i) => `  s${i}: {command: x, wrong: 1}\n`, "mcp:\n"),
  "keys on one line": repeated((i) => `k${i}: 1, `, "{", "a: 1}"),
  "the same key": repeated(() => "a: 1\n"),
  "merge keys": repeated(() => "<<: 1\n"),
  items: repeated(() => "- 1\n"),
  "items on one line": repeated(() => "1,", "[", "1]"),
  anchors: repeated((i) => `- &a${i} 1\n`),
  aliases: repeated(() => "- *a\n", "- &a 1\n"),
  tags: repeated(() => "- !x 1\n"),
  "closing brackets": repeated(() => "]"),
  "opening brackets": repeated(() => "["),
  questions: repeated(() => "? a\n"),
  colons: repeated(() => ": "),
  "empty lines": repeated(() => "\n"),
  "undeclared facts": repeated((i) => `  f${i}: 1\n`, "process: x\nsource: template\nfacts: {a: decimal}\nrules: []\nusual:\n"),
};

for (const [what, text] of Object.entries(HEAVY)) {
  test(`${SIZE} characters of ${what} are read or refused at once`, () => {
    for (const [file, read] of Object.entries(READERS)) {
      const before = process.cpuUsage();
      try {
        read(text);
      } catch (error) {
        expect((error as { code?: string }).code, String(error)).toMatch(/^[A-Z_]+$/);
      }
      const { user, system } = process.cpuUsage(before);
      // The worst takes a fifth of it; 36,000 keys took twelve seconds.
      expect((user + system) / 1e6, `${file}, seconds of CPU`).toBeLessThan(5);
    }
  });
}

test("large files are still read: six thousand different keys", () => {
  const text = Array.from({ length: 6000 }, (_, i) => `k${i}: [a, b]\n`).join("");
  expect(Object.keys(readYaml(text, { file: "x", code: "CONFIG_INVALID", maxLength: SIZE }).value as object)).toHaveLength(6000);
});

const HIDDEN = ["\u200b", "\u202e", "\u2028", "\u2029", "\r", "\u0007", "\u00ad", "\u3164", "\u{e0041}", "\ufeff", "\u2066", "\ufe0f"];
const SMALL: Record<string, (sign: string) => string> = {
  "config.yaml": (sign) => `business:\n  name: A${sign}B\n`,
  "trust.yaml": (sign) => `people:\n  - {name: A${sign}B, key: x}\n`,
  "a policy": (sign) =>
    `process: x\nsource: template\nfacts: {a: decimal}\nrules:\n  - {id: R, when: a > 1, action: notify, description: A${sign}B}\n`,
  "a dialect": (sign) => `name: x\nmatch: {header: [A${sign}B]}\n`,
  "a header": (sign) => `name: A${sign}B\n`,
};
for (const [file, text] of Object.entries(SMALL)) {
  test(`${file} with a character that nobody sees is refused at its place, with what to write instead`, () => {
    for (const sign of HIDDEN) {
      const says = `${file}: U+${sign.codePointAt(0)?.toString(16)}`;
      expect(() => READERS[file]?.(text(sign)), says).toThrow(/: The character U\+[0-9A-F]+ (?:is invisible to a reader|ends a line)/);
    }
    expect(() => READERS[file]?.(text("\u00a0")), file).toThrow(/U\+00A0 looks like a space/);
    expect(() => READERS[file]?.(text("а")), file).toThrow(/"AаB" mixes Latin letters with а \(U\+0430\), which look like them/);
  });
}

test("the place of such a character is reported", () => {
  expect(() => parseConfig("business:\n  name: A\u200bB\n")).toThrow(
    expect.objectContaining({ at: { file: "config.yaml", line: 2, col: 10 } }),
  );
  expect(() => parseHeader("/*\nname: A\n\ndescription: \u202e\n*/", "agents/x.ts")).toThrow(
    expect.objectContaining({ at: { file: "agents/x.ts", line: 4, col: 14 } }),
  );
});

test("written as an escape, such a character is accepted", () => {
  expect(parseConfig('business:\n  name: "A\\u200bB"\n').business.name).toBe("A\u200bB");
});

test("what code writes is read back unchanged, without invisible characters", () => {
  const nasty = HIDDEN.map((sign) => `A${sign}B\n${sign}`).join(" ");
  const value = { [nasty]: [nasty, "👩‍💻", "plain", { deep: "\ud800" }], text: "first\nsecond\n" };
  const text = writeYaml(value);
  for (const sign of [...HIDDEN, "\ud800"]) expect(text.replaceAll("👩‍💻", "").replaceAll("❤️", "")).not.toContain(sign);
  expect(readYaml(text, { file: "x", code: "CONFIG_INVALID", maxLength: 10_000 }).value).toEqual(value);
  const receipt = { file: nasty, hash: "0".repeat(64), dialect: "d", account: "a", currency: "USD", rows: 1, new: 1, known: 0, twin: 0 };
  const whole = {
    ...receipt,
    // More than a person would write: the receipt of a large statement that was read with another bank's dialect.
    refused: Array.from({ length: 24_000 }, (_, i) => ({ line: i + 1, code: "X", message: `MОSCOW, [${i}]: {no}, -1, *2, &3, !4` })),
    unbooked: [nasty],
    asked: [],
    removed: [],
    record: { stated: [], booked: {}, known: [], same: {}, left_out: [] },
    opening: null,
    closing: null,
    gap: null,
  };
  expect(receiptFromYaml(receiptToYaml(whole))).toEqual(whole);
});

test("a key that would be an object's prototype is refused in every file that people write", () => {
  const { "a case": _, ...written } = READERS;
  for (const [file, read] of Object.entries(written))
    for (const text of ["settings: {__proto__: {a: 1}}\n", '? "__proto__"\n: 1\n', "usual:\n  - deep: {a: {__proto__: 1}}\n"])
      expect(() => read(text), file).toThrow(/"__proto__" is not supported/);
});
