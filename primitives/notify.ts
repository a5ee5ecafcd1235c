/** Notices to people. The notice is in the outbox when the call returns; the owner of the workspace delivers it, once for each key. */
import { z } from "zod";
import { standing } from "../runtime/rules/answers/mutations.ts";
import { definePrimitive, type StepContext } from "../runtime/kernel/primitive.ts";
import { shown, text } from "./_shapes.ts";

const params = z.object({
  to: line("a mail address, or what the channel calls its reader; null: the notice is shown on the page").nullable(),
  subject: line("one line"),
  text: text.describe("the message; a link may open a page, never act"),
  channel: text.optional().describe("page, smtp or a webhook of trust.yaml; default: notify.default of config.yaml"),
  urgent: z.boolean().optional().describe("not delayed by quiet hours"),
  key: text
    .optional()
    .describe("sent once for each key of this agent, whatever the text: make the key name the news; without one, each call is sent"),
});

/** A line break in a subject or an address would start another header of the mail. */
function line(what: string) {
  return text
    .refine((value) => typeof value !== "string" || (value.length <= 300 && /^[^\p{Cc}]*\S[^\p{Cc}]*$/u.test(value)), {
      error: (issue) => `${shown(issue.input)} is not one line of at most 300 characters`,
    })
    .meta({ ts: "string" })
    .describe(what);
}

async function send(p: z.output<typeof params>, ctx: StepContext, live: boolean) {
  const { id: run, agent } = ctx.run;
  const key = p.key === undefined ? ctx.key : `${agent}:${p.key}`;
  // Whatever the script says, the recipient learns which writes are not verified.
  const { not_verified: unverified } = standing(ctx.writes ?? []);
  const body = [p.text, ...(unverified.length === 0 ? [] : ["", "Not verified:", ...unverified])].join("\n");
  const to = p.to === null ? { to: "nobody: no address is known", channel: "page" } : { to: p.to };
  const { due, ...sent } = await ctx.ports.notices.send({ ...p, ...to, text: body, key, run, agent }, { now: ctx.now, live });
  const at = new Date(due).toISOString();
  if (due > ctx.now) ctx.ports.log(`Quiet hours: "${p.subject}" to ${to.to} goes out at ${at}.`);
  return { ...sent, due: at };
}

export const notify_send = definePrimitive({
  name: "notify_send",
  effect: "notify",
  idempotent: "key",
  summary: "Notify a person by mail, webhook or on the page; quiet hours delay it unless urgent.",
  params,
  returns: z.object({ notice: z.string(), channel: z.string(), state: z.string(), due: z.string() }),
  errors: ["NOTICE_CHANNEL", "NOTICE_ADDRESS"],
  example: `notify_send({ to: "ann@example.com", subject: "Invoice INV-7 is overdue", text: "30 days. Please look." })`,
  run: (p, ctx) => send(p, ctx, true),
  dryRun: (p, ctx) => send(p, ctx, false),
});
