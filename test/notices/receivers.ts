/** A mail sink and a webhook receiver on the loopback address: they keep what reaches them, and can be told how to behave. */
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface Mail {
  from: string;
  to: string[];
  text: string;
}

const closing: (() => Promise<void>)[] = [];

/** For afterEach. */
export async function closeReceivers(): Promise<void> {
  for (const close of closing.splice(0)) await close();
}

/**
 * `answer`: what becomes of a mail that is whole: null takes it, an error with responseCode refuses it, "drop" takes it and cuts the line
 * before the yes. `held` waits before it answers.
 */
export async function mailSink(
  options: {
    port?: number;
    user?: string;
    password?: string;
    answer?: (mail: Mail) => Error | "drop" | null;
    held?: () => Promise<void>;
  } = {},
): Promise<{ port: number; mails: Mail[]; close(): Promise<void> }> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: options.user === undefined,
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
    logger: false,
    onAuth: ({ username, password }, _, done) =>
      username === options.user && password === options.password ? done(null, { user: username }) : done(new Error(`${password} is wrong`)),
    onData(stream, session, done) {
      let text = "";
      stream.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
      stream.on("end", async () => {
        const { mailFrom, rcptTo } = session.envelope;
        const mail = { from: mailFrom === false ? "" : mailFrom.address, to: rcptTo.map((one) => one.address), text };
        await options.held?.();
        const said = options.answer?.(mail) ?? null;
        if (said === null || said === "drop") mails.push(mail);
        if (said === "drop") for (const connection of server.connections) connection.close();
        else done(said);
      });
    },
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const port = (server.server.address() as AddressInfo).port;
  let open = true;
  const close = async () => {
    if (!open) return;
    open = false;
    await new Promise<void>((done) => server.close(() => done()));
  };
  closing.push(close);
  return { port, mails, close };
}

export interface Received {
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Keeps every request; `told` has each Idempotency-Key once, as a receiver that knows its keys acts. */
export async function hookReceiver(
  options: { status?: () => number } = {},
): Promise<{ url: string; requests: Received[]; told(): string[]; close(): Promise<void> }> {
  const requests: Received[] = [];
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
    request.on("end", () => {
      const status = options.status?.() ?? 200;
      if (status < 400) requests.push({ headers: request.headers, body });
      response.writeHead(status, { location: "http://127.0.0.1:1/" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  closing.push(close);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    told: () => [...new Set(requests.map((one) => String(one.headers["idempotency-key"])))],
    close,
  };
}
