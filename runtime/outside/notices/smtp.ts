/**
 * Notices by mail; the door to nodemailer. SMTP has no idempotency key, so the moment from which a mail may have been sent (the server has
 * accepted DATA, and the first byte is requested) is reported through `leaving` before that byte goes out.
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { NoticeChannels } from "../../workspace/settings/config.ts";
import { createRedactor } from "../mcp/answer.ts";
import { type Delivered, type Letter, whyOf } from "./outbox.ts";

const PATIENCE = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000, dnsTimeout: 10_000 };

/** `leaving` is called once, before any byte of the message goes out; if it throws, nothing is sent. `password`: null without a user. */
export async function mailNotice(
  server: NonNullable<NoticeChannels["smtp"]>,
  letter: Letter,
  { password, leaving }: { password: string | null; leaving(): void },
): Promise<Delivered> {
  const { default: Composer } = await import("nodemailer/lib/mail-composer");
  const { default: SMTPConnection } = await import("nodemailer/lib/smtp-connection");
  const footer = letter.link === null ? "" : `\n\n-- \n${letter.agent}, ${letter.run}: ${letter.link}\n`;
  const message = await new Composer({
    from: server.from,
    to: letter.to,
    subject: letter.subject,
    text: letter.text + footer,
    date: new Date(letter.at),
    // The same for every attempt, so that duplicates in a mailbox can be recognized.
    messageId: `<${createHash("sha256").update(letter.id).digest("hex").slice(0, 32)}@${server.from.split("@")[1]}>`,
    headers: { "auto-submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
  const secure = server.port === 465;
  const local = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(server.host);
  const connection = new SMTPConnection({ host: server.host, port: server.port, secure, requireTLS: !secure && !local, ...PATIENCE });
  let left = false;
  try {
    await new Promise<void>((resolve, reject) => {
      const or = (next: () => void) => (error?: Error | null) => (error ? reject(error) : next());
      connection.on("error", reject);
      connection.once("end", () => reject(new Error("the server closed the connection")));
      const body = new Readable({
        read() {
          try {
            leaving();
            left = true;
            this.push(message);
            this.push(null);
          } catch (error) {
            // Nothing has gone out; without the final dot the server has no mail.
            connection.close();
            reject(error);
          }
        },
      });
      const send = () => connection.send({ from: server.from, to: [letter.to], size: message.length }, body, or(resolve));
      const { user } = server;
      connection.connect(or(() => (user === undefined ? send() : connection.login({ user, pass: password ?? "" }, or(send)))));
    });
    connection.quit();
    return { status: "sent" };
  } catch (error) {
    connection.close();
    const { responseCode } = error as { responseCode?: number };
    // A server may echo what it was sent.
    const redactor = createRedactor();
    for (const one of password === null ? [] : [password, `\0${server.user}\0${password}`]) redactor.add("password", one);
    const why = redactor.words(whyOf(error));
    // 4xx and 5xx are rejections by the server: RFC 5321 4.2.1, transient and permanent.
    if (responseCode !== undefined && responseCode >= 400) return { status: responseCode >= 500 ? "never" : "retry", why };
    return { status: left ? "unknown" : "retry", why };
  }
}
