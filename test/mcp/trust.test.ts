/** The section `mcp:` of trust.yaml: what it may say, and that a mistake in it is told with its place. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";

test("the sections of the demo business and the starter are accepted", () => {
  const root = join(import.meta.dirname, "../..");
  const erp = parseTrust(readFileSync(join(root, "examples/erp/mcp.yaml"), "utf8")).mcp["erp"];
  expect(erp?.tools["pay_invoice"]).toMatchObject({ class: "mutate", idempotency_key: "idempotency_key", verify: { read: "get_invoice" } });
  expect(parseTrust(readFileSync(join(root, "trust.yaml"), "utf8"))).toMatchObject({ mcp: {}, addresses: { allow: [], loopback: false } });
});

test.each([
  ["{a: {command: node, url: 'http://x.test'}}", "one of command, url and plain"],
  ["{a: {}}", "one of command, url and plain"],
  ["{a: {url: 'ftp://x.test'}}", "http(s) address"],
  ["{a: {url: 'https://user:pass@x.test'}}", "http(s) address"],
  ["{a: {command: node, args: ['--token=secret:x']}}", "secrets go into env, headers or oauth"],
  ["{a: {command: node, tool: {}}}", 'Did you mean "tools"'],
  ["{a: {command: node, tools: {pay: {class: write}}}}", "mcp.a.tools.pay.class"],
  ["{a: {plain: 'http://x.test', oauth: {client_id: a, client_secret: b}}}", "oauth needs a url"],
  ["{given: {command: node}}", "mcp.given"],
])("mcp: %s is refused", (section, says) => {
  expect(() => parseTrust(`mcp: ${section}`)).toThrow(says);
});

test("addresses are hosts and ranges, not URLs", () => {
  for (const one of ["http://x.test", "x.test:80", "*", "10.0.0.0/8/8"])
    expect(() => parseTrust(`addresses: {allow: ["${one}"]}`)).toThrow(/write a host/);
});
