/** What leaves by the doors to models, and what comes in by them, where the environment, a text or a server is not as it is meant to be. */
import { afterEach, expect, test, vi } from "vitest";
import { KEY, LOCAL, SECRETS, claude, local, open, request } from "./opened.ts";
import { fakeModel } from "./server.ts";

afterEach(() => vi.unstubAllEnvs());

const DOORS = [
  ["anthropic", claude, ""],
  ["openai", local, LOCAL],
] as const;

for (const [name, trust, config] of DOORS) {
  test(`${name}: headers of the user's environment go nowhere, and the key of the server's own entry does`, async () => {
    const server = await fakeModel(() => "ready");
    for (const one of ["ANTHROPIC", "OPENAI"])
      vi.stubEnv(`${one}_CUSTOM_HEADERS`, "Authorization: Bearer of-the-gateway\nx-api-key: of-the-gateway\nx-other: of-the-gateway");
    const keyed = name === "openai" ? ', key: "secret:anthropic"' : "";
    await (await open(trust(server, keyed), config, {}, SECRETS)).llm.generate(request());
    const [{ wire, headers }] = server.asked as [(typeof server.asked)[0]];
    expect(wire).not.toContain("of-the-gateway");
    expect([headers["x-api-key"], headers.authorization]).toEqual(name === "anthropic" ? [KEY, undefined] : [undefined, `Bearer ${KEY}`]);
  });
}

test("a stored secret is hidden in JSON text too, once and twice escaped, and so is what only its key tells", async () => {
  const server = await fakeModel(() => "ready");
  const bank = 'pa"ss\\wo\nrd-of-bank';
  const { llm } = await open(local(server), LOCAL, {}, { bank });
  const once = JSON.stringify({ note: bank });
  const nested = JSON.stringify({ params: JSON.stringify({ account_number: "123456789", password: "hunter2-hunter2" }), city: "Berlin" });
  const twice = JSON.stringify({ once });
  const cut = JSON.stringify({ result: nested }).slice(0, -9);
  for (const text of [bank, once, twice, nested, cut])
    await llm.generate(request({ system: text, messages: [{ role: "user", content: [{ type: "tool_result", id: "c", text }] }] }));
  const wires = server.asked.map(({ wire }) => wire).join("\n");
  for (const secret of ["rd-of-bank", "123456789", "hunter2"]) expect(wires).not.toContain(secret);
  expect(wires).toContain("Berlin");
});
