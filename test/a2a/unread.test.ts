/** What is answered before a body was read: the answer arrives however the client sends, and nobody sends for ever. */
import { request } from "node:http";
import { type Socket, connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared } from "../cli/command-line.ts";
import { type Served, said, serve, skill } from "./client.ts";

let site: Served;
beforeAll(async () => {
  site = await serve();
});
afterAll(() => site.started.stop());

const MB = 1024 * 1024;
const LARGE = Buffer.alloc(17 * MB, "x");
const port = () => Number(new URL(site.url).port);

type Ask = { method: string; path: string; headers: Record<string, string> };
type Send = (ask: Ask, body: Buffer) => Promise<number>;

const viaFetch: Send = async ({ path, ...ask }, body) => {
  const answer = await fetch(`${site.url}${path}`, { ...ask, body: new Uint8Array(body) });
  await answer.text();
  return answer.status;
};

const viaHttp =
  (headers: Record<string, string>): Send =>
  (ask, body) =>
    new Promise((resolve, reject) => {
      const { method, path } = ask;
      const sent = request({ port: port(), host: "127.0.0.1", method, path, headers: { ...ask.headers, ...headers } }, (answer) => {
        answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
      });
      sent.once("error", reject);
      sent.end(body);
    });

/** Reads nothing before all of it is sent; `keep`: what the connection is to be afterwards. */
const viaSocket =
  (keep: string, chunked = false): Send =>
  ({ method, path, headers }, body) =>
    new Promise((resolve, reject) => {
      const socket = connect(port(), "127.0.0.1").pause().once("error", reject);
      const length = chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.byteLength}`;
      const lines = Object.entries({ Host: `127.0.0.1:${port()}`, Connection: keep, ...headers }).map(
        ([name, value]) => `${name}: ${value}`,
      );
      socket.write(`${method} ${path} HTTP/1.1\r\n${[...lines, length].join("\r\n")}\r\n\r\n`);
      if (chunked) socket.write(`${body.byteLength.toString(16)}\r\n`);
      socket.write(body);
      socket.write(chunked ? "\r\n0\r\n\r\n" : "", () => {
        socket.once("data", (answer) => {
          resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer.toString("latin1"))?.[1]));
          socket.destroy();
        });
        socket.resume();
        socket.once("end", () => reject(new Error("closed without an answer")));
      });
    });

const WAYS: [string, Send][] = [
  ["fetch", viaFetch],
  ["node:http", viaHttp({})],
  ["node:http in pieces", viaHttp({ "transfer-encoding": "chunked" })],
  ["node:http that closes", viaHttp({ connection: "close" })],
  ["a socket", viaSocket("keep-alive")],
  ["a socket that closes", viaSocket("close")],
  ["a socket in pieces", viaSocket("keep-alive", true)],
];
const from = (path: string, headers: Record<string, string> = {}, method = "POST"): Ask => ({ method, path, headers });
const elsewhere = { origin: "http://elsewhere.example" };

// what is asked, the answer; nothing is read of 3 MB, and not all of 17 MB
const ASKS: [string, number, Ask, Buffer][] = [
  ["a message over 16 MB", 413, from("/"), LARGE],
  ["one over 16 MB to REST", 413, from("/message:send"), LARGE],
  ["a call of a tool", 413, from("/mcp"), LARGE],
  ["a webhook", 413, from("/hooks/bank"), LARGE],
  ["a form", 413, from("/cards/1", { origin: "" }), LARGE],
  ["a message without a known token", 401, from("/", { authorization: "Bearer x" }), LARGE.subarray(0, 900_000)],
  ["a message of a page", 403, from("/", elsewhere), LARGE.subarray(0, 900_000)],
  ["a form of a page elsewhere", 403, from("/cards/1", elsewhere), LARGE],
  ["another method", 405, from("/", {}, "PUT"), LARGE],
];

test.each(ASKS)("%s is answered %i before it is read, however it is sent", async (_, status, { headers, ...rest }, body) => {
  const ask = { ...rest, headers: headers["origin"] === "" ? { origin: site.url } : headers };
  for (let round = 0; round < 2; round++) {
    const got = await Promise.all(WAYS.map(async ([way, send]) => [way, await send(ask, body).catch(String)]));
    expect(got).toEqual(WAYS.map(([way]) => [way, status]));
  }
});

const head = (more: string) => `POST / HTTP/1.1\r\nHost: 127.0.0.1:${port()}\r\n${more}\r\n\r\n`;
/** Answers what was said until the connection ended. */
const talk = (begin: (socket: Socket) => void, heard: (socket: Socket) => void = () => undefined): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port(), "127.0.0.1");
    let text = "";
    socket.on("data", (more) => {
      text += more.toString("latin1");
      heard(socket);
    });
    socket.on("error", () => undefined).once("close", () => resolve(text));
    begin(socket);
  });

test("a client that never stops sending is disconnected", async () => {
  let sent = 0;
  const answer = await talk((socket) => {
    const more = () => {
      while (!socket.destroyed && socket.write(LARGE));
      sent = socket.bytesWritten;
    };
    socket.write(head(`Content-Length: ${1e12}`));
    socket.on("drain", more);
    more();
  });
  expect(answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
  expect(sent).toBeLessThan(200 * MB);
});

test("a request behind an unread one is not carried out", async () => {
  const second = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "message/send", params: { message: said("good day", skill("echo")) } });
  const answers = await talk(
    (socket) => socket.write(`${head("Authorization: Bearer x\r\nContent-Length: 5")}ab`),
    (socket) => socket.end(`cde${head(`Content-Length: ${second.length}`)}${second}`),
  );
  expect(answers).toMatch(/^HTTP\/1\.1 401 /);
  expect(answers.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect((await cleared(site.dir, "runs", "list", "--json")).json()).toEqual([]);
});
