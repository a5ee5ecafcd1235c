/** config.yaml and trust.yaml: defaults, and the place and words of each mistake. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { ClearedError, formatAt } from "../../runtime/kernel/errors.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { configKeys, configValue, parseConfig, parseTrust } from "../../runtime/workspace/settings/config.ts";
import { limitsFor } from "../../runtime/workspace/settings/limits.ts";

const STARTER = resolve(import.meta.dirname, "../..");

function refusal(parse: () => unknown): { at: string; message: string; findings: number } {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof ClearedError) || error.code !== "CONFIG_INVALID") throw error;
    return {
      at: error.at === undefined ? "" : formatAt(error.at),
      message: error.message,
      findings: (error.data?.["findings"] as unknown[] | undefined)?.length ?? 1,
    };
  }
  throw new Error("it was accepted");
}

test("the minimal config is a business's name; everything else has a default", () => {
  expect(parseConfig("business: {name: Acme}")).toEqual({
    business: { name: "Acme" },
    branch: "main",
    timezone: "UTC",
    currency: "USD",
    accounts: { opening: "3010", suspense: "3900" },
    import: { settle_seconds: 5 },
    statements: [],
    thresholds: {},
    settings: {},
    policy: {
      ranks: [["supervisor"], ["manager"], ["director"], ["vp"], ["cfo", "ciso"], ["ceo"], ["board"]],
      roles: ["hr", "finance", "committee", "legal"],
    },
    notify: { default: "page" },
    privacy: {},
    history: {},
    changes: {
      per_agent_a_night: 5,
      per_day: 20,
      cooldown_hours: 24,
      new_processes_a_day: 3,
      auto_revert: { hours: 24, reviews: 2, errors: 1.5, at_least: 3 },
    },
    callers: { open: 200, message_kb: 256, stored_mb: 1024, keep_days: 90 },
    web: { port: 4310 },
    raw: { business: { name: "Acme" } },
  });
});

test("the starter's files are valid and explain every key", () => {
  const config = readFileSync(resolve(STARTER, "config.yaml"), "utf8");
  const trust = readFileSync(resolve(STARTER, "trust.yaml"), "utf8");
  expect(parseConfig(config).timezone).toBe("America/New_York");
  for (const key of [
    "business",
    "branch",
    "timezone",
    "currency",
    "closed_through",
    "accounts",
    "statements",
    "thresholds",
    "settings",
    "policy",
    "web",
  ])
    expect(config).toContain(`${key}:`);
  const limits = limitsFor(parseTrust(trust), "any");
  for (const key of [...Object.keys(limits), "plugins", "people", "agents", "sandbox", "slots", "jit"]) expect(trust).toContain(`${key}:`);
  expect(limits).toEqual(limitsFor(parseTrust(""), "any"));
});

test("accounts are text, however they are written", () => {
  const config = parseConfig(
    'business: {name: A}\naccounts: {opening: 3010, suspense: Equity:Suspense}\nstatements:\n  - match: {file: "c*.csv", bank_account: 123}\n    account: 1010\n',
  );
  expect(config.accounts).toEqual({ opening: "3010", suspense: "Equity:Suspense" });
  expect(config.statements).toEqual([{ match: { file: "c*.csv", bank_account: "123" }, account: "1010" }]);
});

test.each<[string, string, RegExp]>([
  ["business: {name: A}\nthreshold: {}\n", "config.yaml:2:1", /Unknown key "threshold"\. Did you mean "thresholds"\?/],
  ["business:\n  name: A\n  nmae: B\n", "config.yaml:3:3", /Unknown key "business\.nmae"\. Did you mean "name"\?/],
  [
    "business: {name: A}\nstatements:\n  - match: {file: x}\n    account: 1\n    dialct: y\n",
    "config.yaml:5:5",
    /statements\.0\.dialct.*Did you mean "dialect"/,
  ],
  ["", "config.yaml:1:1", /business/],
  ["- a\n", "config.yaml:1:1", /object/],
  ["business: {name: A}\ntimezone: New York\n", "config.yaml:2:1", /no such time zone/],
  ["business: {name: A}\nbranch: ../x\n", "config.yaml:2:1", /branch/],
  ["business: {name: A}\nbranch: --exec\n", "config.yaml:2:1", /branch/],
  ["business: {name: A}\nclosed_through: 2026-02-30\n", "config.yaml:2:1", /calendar day/],
  ["business: {name: A}\nweb: {port: 99999}\n", "config.yaml:2:7", /at most 65535/],
  ["business: {name: A}\nhistory: {keep_days: 1}\n", "config.yaml:2:11", /at least 30/],
  ["business: {name: A}\nstatements: [{match: {}, account: 1}]\n", "config.yaml:2:15", /name a file pattern/],
  ["business: {name: A}\n  currency: USD\n", "", /Not valid YAML/],
  ["business: {name: A}\nbusiness: {name: B}\n", "config.yaml:2:1", /Not valid YAML/],
  ["a: &x [1]\nb: [*x, *x]\n", "config.yaml:1:7", /references/],
  [`business: {name: A}\nsettings: ${"[".repeat(9000)}`, "", /./],
  ["plugins: [x.ts]\nbusiness: {name: A}\n", "config.yaml:1:1", /Unknown key "plugins"/],
])("config mistake %# is refused at its line", (text, at, words) => {
  const said = refusal(() => parseConfig(text));
  if (at !== "") expect(said.at).toBe(at);
  expect(said.message).toMatch(words);
  expect(said.message).toMatch(/^config\.yaml/);
});

test("all errors in a file are found at once, and the first one is the message", () => {
  const said = refusal(() => parseConfig("business: {name: A}\nbranchh: x\ncurrency: usd\nwebb: 1\n"));
  expect(said).toMatchObject({ at: "config.yaml:2:1", findings: 3 });
});

test.each<[string, string, RegExp]>([
  ["limits: {memory: 64}\n", "trust.yaml:1:10", /Did you mean "memory_mb"/],
  ["limits:\n  cpu_ms: 1s\n", "trust.yaml:2:3", /whole number/],
  ["limits:\n  agents:\n    ingest: {cpu_mss: 1}\n", "trust.yaml:3:14", /Did you mean "cpu_ms"/],
  ["plugins: [../evil.ts]\n", "trust.yaml:1:11", /inside the workspace/],
  ["plugins: [/etc/x.ts]\n", "trust.yaml:1:11", /inside the workspace/],
  ["people: [{name: A, key: abc}]\n", "trust.yaml:1:20", /public half/],
  ["sandbox: {slots: 0}\n", "trust.yaml:1:11", /at least 1/],
])("trust %j is refused at its line", (text, at, words) => {
  const said = refusal(() => parseTrust(text));
  expect(said.at).toBe(at);
  expect(said.message).toMatch(words);
});

test("an agent's own limits take precedence over the workspace's, and the wall time follows the CPU limit", () => {
  const trust = parseTrust(
    "limits:\n  cpu_ms: 2000\n  calls: 10\n  agents:\n    ingest: {cpu_ms: 5000, memory_mb: 128}\n    slow: {wall_ms: 60000}\n",
  );
  expect(limitsFor(trust, "ingest")).toMatchObject({ cpu_ms: 5000, wall_ms: 6500, memory_mb: 128, calls: 10 });
  expect(limitsFor(trust, "slow")).toMatchObject({ cpu_ms: 2000, wall_ms: 60_000, memory_mb: 64 });
  expect(limitsFor(trust, "constructor")).toMatchObject({ cpu_ms: 2000 });
});

test("dotted keys reach exactly what the file contains", () => {
  const { raw } = parseConfig("business: {name: A}\nthresholds: {auto_confirm: 0.95}\nsettings: {list: [a, b]}\n");
  expect(configValue(raw, "thresholds.auto_confirm")).toBe(0.95);
  expect(configValue(raw, "settings.list.1")).toBe("b");
  for (const key of ["", "thresholds.x", "thresholds.constructor", "settings.list.length", "business.name.length", "toString"])
    expect(configValue(raw as Json, key)).toBeUndefined();
  expect(configKeys(raw)).toEqual(expect.arrayContaining(["business", "business.name", "thresholds.auto_confirm", "settings.list.0"]));
});

test("two people have two names, and two keys: neither the same text twice nor the same bytes in another text", () => {
  const key = (last: string) => `MCowBQYDK2VwAyEA${"b".repeat(42)}${last}=`;
  const people = (other: string, name = "Carl") => `people:\n  - {name: Ann, key: ${key("g")}}\n  - {name: "${name}", key: ${other}}\n`;
  expect(refusal(() => parseTrust(people(key("k"), "A\\u200bnn"))).message).toMatch(/two people have the same name/);
  expect(parseTrust(people(key("k"))).people).toHaveLength(2);
  expect(refusal(() => parseTrust(people(key("g")))).message).toMatch(/two people have the same key/);
  for (const last of ["h", "i", "j"]) expect(refusal(() => parseTrust(people(key(last)))).message).toMatch(/exactly as cleared init/);
});
