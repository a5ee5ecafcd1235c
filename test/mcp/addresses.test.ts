/** Addresses that come with a run: denied unless allowed, whatever they are written like, resolve to or redirect to. */
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { type Address, createFetch, createJudge } from "../../runtime/outside/mcp/addresses.ts";
import { run, serve } from "./pool.ts";

const at = (...addresses: string[]): Address[] => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
const PRIVATE =
  "10.1.2.3 172.16.0.1 172.31.255.254 192.168.1.1 100.64.0.1 169.254.169.254 127.0.0.1 127.8.8.8 0.0.0.0 224.0.0.1 239.1.1.1 240.0.0.1 " +
  "255.255.255.255 198.18.0.1 192.0.2.1 198.51.100.7 203.0.113.9 192.0.0.8 ::1 :: fe80::1 fc00::1 fd12::1 ff02::1 ::ffff:10.0.0.1 " +
  "::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 2002:7f00:1::1 2001:db8::1 2001::1 100::1 fec0::1";

test.each(PRIVATE.split(" "))("a listed name that resolves to %s is refused", (address) => {
  const judge = createJudge({ allow: ["api.example.com", "*.example.org"], loopback: false });
  expect(() => judge("api.example.com", at(address))).toThrow(/inside a network or this machine/);
  expect(() => judge("api.example.com", at("93.184.216.34", address))).toThrow();
});

test("a listed name at a public address is allowed, an unlisted one is not", () => {
  const judge = createJudge({ allow: ["api.example.com", "*.example.org"], loopback: false });
  judge("api.example.com", at("93.184.216.34", "2606:2800:220:1::1"));
  judge("API.Example.com.", at("93.184.216.34"));
  judge("a.b.example.org", at("93.184.216.34"));
  for (const host of ["example.com", "api.example.com.evil.net", "evilexample.org", "example.org", "93.184.216.34"])
    expect(() => judge(host, at("93.184.216.34")), host).toThrow(/is not listed/);
  expect(() => judge("api.example.com", [])).toThrow();
});

test("a private range and this machine are allowed by naming them, and nothing else is", () => {
  const judge = createJudge({ allow: ["10.0.0.0/8", "fd00::/8"], loopback: true });
  judge("erp.internal", at("10.9.8.7"));
  judge("erp.internal", at("fd00::7", "127.0.0.1", "::1"));
  expect(() => judge("erp.internal", at("10.9.8.7", "192.168.0.1"))).toThrow();
  expect(() => judge("erp.internal", at("93.184.216.34"))).toThrow();
  expect(() => createJudge({ allow: ["10.0.0.0/40"], loopback: false })).toThrow(/not a range/);
});

const CLOSED = { rules: { allow: ["listed.test"], loopback: false }, maxBytes: 1000 };

test.each(["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0", "localhost"])(
  "http://%s is this machine, however it is written",
  async (host) => {
    await expect(createFetch(CLOSED)(`http://${host}:9/`)).rejects.toMatchObject({ code: "TOOL_REFUSED" });
  },
);

test.each(["file:///etc/passwd", "ftp://listed.test/", "data:text/plain,hi", "gopher://listed.test"])(
  "%s is not an address for tools",
  async (url) => {
    await expect(createFetch(CLOSED)(url)).rejects.toMatchObject({ code: "TOOL_REFUSED" });
  },
);

test("the connection goes to the checked address, even if the name resolves differently the second time", async () => {
  let asked = 0;
  const url = new URL(await serve((request, response) => void response.end(`for ${request.headers.host}`)));
  const resolve = async () => (asked++ === 0 ? at("127.0.0.1") : at("169.254.169.254"));
  const rebinding = createFetch({ rules: { allow: [], loopback: true }, maxBytes: 1000, resolve });
  expect(await (await rebinding(`http://erp.test:${url.port}/`)).text()).toBe(`for erp.test:${url.port}`);
  expect(asked).toBe(1);
  await expect(rebinding(`http://erp.test:${url.port}/`)).rejects.toMatchObject({ code: "TOOL_REFUSED" });
});

test("a redirect is returned and not followed", async () => {
  const inner = await serve((_, response) => void response.end("secret"));
  const outer = await serve((_, response) => void response.writeHead(302, { location: inner }).end());
  const answer = await createFetch({ rules: { allow: [], loopback: true }, maxBytes: 1000 })(outer);
  expect([answer.status, await answer.text()]).toEqual([302, ""]);
});

test("an endpoint given with a run is refused by default, by range and by redirect", async () => {
  const plain = await serve((_, response) => void response.end("[]"));
  const refused = { code: "TOOL_REFUSED", message: expect.stringContaining("trust.yaml") };
  await expect(run("", { given: plain }).tools.list("given")).rejects.toMatchObject(refused);
  const named = run("addresses: {allow: [api.example.com]}", {
    given: "http://api.example.com/",
    resolve: async () => at("169.254.169.254"),
  });
  await expect(named.call("given/pay", {})).rejects.toMatchObject(refused);
  const metadata = await serve((_, response) => void response.writeHead(307, { location: "http://169.254.169.254/mcp" }).end());
  await expect(run("addresses: {loopback: true}", { given: metadata }).tools.list("given")).rejects.toMatchObject({ code: "TOOL_REFUSED" });
});

test.each(["101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket", "999 Odd"])(
  "an answer with HTTP %j is invalid, and the call ends",
  async (head) => {
    const server = createServer((socket) =>
      socket.on("error", () => undefined).once("data", () => socket.write(`HTTP/1.1 ${head}\r\n\r\n`)),
    );
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const fetch = createFetch({ rules: { allow: [], loopback: true }, maxBytes: 1000 });
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow(/without an answer|not a valid status/);
    await new Promise((closed) => server.close(closed));
  },
);
