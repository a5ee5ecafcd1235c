/** The owner's socket lies in a folder of this user alone, wherever the workspace is; a folder that somebody else made or opened is refused. */
import { chmodSync, existsSync, lchownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { connectSocket, serveSocket, socketPath } from "../../runtime/app/socket.ts";

let place: string;
let deep: string;
const env = { ...process.env };

beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), "cleared-socket-")));
  deep = join(place, "d".repeat(100));
  mkdirSync(deep);
  process.env["TMPDIR"] = join(place, "tmp");
  process.env["XDG_RUNTIME_DIR"] = join(place, "run");
  for (const name of ["tmp", "run"]) mkdirSync(join(place, name), { mode: 0o700 });
});
afterEach(() => {
  for (const name of ["TMPDIR", "XDG_RUNTIME_DIR"]) {
    if (env[name] === undefined) delete process.env[name];
    else process.env[name] = env[name];
  }
  rmSync(place, { recursive: true, force: true });
});

async function answers(): Promise<unknown> {
  const served = await serveSocket(deep, async (method) => `you said ${method}`);
  const connection = await connectSocket(deep);
  try {
    return await connection?.call("hello", {});
  } finally {
    connection?.close();
    await served.close();
  }
}

it("any text crosses it, line separators of Unicode and an empty line too, and so do a hundred requests at once", async () => {
  const served = await serveSocket(deep, async (method, said) => [method, said]);
  const connection = await connectSocket(deep);
  const texts = ["a\u2028b\u2029c", "a\nb\r\nc\u0085d", "", "é".repeat(100_000), ...Array.from({ length: 100 }, (_, i) => `${i}`)];
  expect(await Promise.all(texts.map((text) => connection?.call("say", { text })))).toEqual(texts.map((text) => ["say", { text }]));
  connection?.close();
  await served.close();
});

it("a workspace with a long path has its socket in the user's runtime folder, else in one in the temporary folder", async () => {
  expect(dirname(socketPath(deep))).toBe(join(place, "run/cleared"));
  expect(await answers()).toBe("you said hello");
  expect(statSync(join(place, "run/cleared")).mode & 0o777).toBe(0o700);

  process.env["XDG_RUNTIME_DIR"] = "not/absolute";
  expect(dirname(socketPath(deep))).toBe(join(place, "tmp", `cleared-${userInfo().uid}`));
  expect(await answers()).toBe("you said hello");
});

it.for([
  ["that is open to others", (folder: string) => chmodSync(folder, 0o777)],
  ["that belongs to somebody else", (folder: string) => lchownSync(folder, 65534, 65534)],
] as const)("a folder %s is refused by the owner and by whoever looks for one", async ([, spoil], { skip }) => {
  if (process.getuid?.() !== 0 && spoil.toString().includes("chown")) skip("only root can give a folder away");
  const folder = dirname(socketPath(deep));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Somebody listens there in the owner's place.
  let spoken = "";
  const false_owner = createServer((socket) => socket.on("data", (chunk) => (spoken += chunk)));
  await new Promise<void>((listening) => false_owner.listen(socketPath(deep), listening));
  spoil(folder);
  await expect(connectSocket(deep)).rejects.toMatchObject({ code: "FOLDER_UNSAFE", message: expect.stringContaining(folder) });
  await expect((async () => serveSocket(deep, async () => null))()).rejects.toMatchObject({ code: "FOLDER_UNSAFE" });
  expect(existsSync(socketPath(deep))).toBe(true);
  await new Promise((closed) => false_owner.close(closed));
  expect(spoken).toBe("");
});
