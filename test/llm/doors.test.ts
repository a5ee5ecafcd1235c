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
