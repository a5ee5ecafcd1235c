/** Telling somebody. The notice lies in the outbox when the call returns; the owner of the workspace delivers it, once for each key. */
import { z } from "zod";
import { standing } from "../runtime/rules/answers/mutations.ts";
import { definePrimitive, type StepContext } from "../runtime/kernel/primitive.ts";
import { shown, text } from "./_shapes.ts";

const params = z.object({
  to: line("a mail address, or what the channel calls its reader; where a record has none, the notice is left on the page").nullable(),
  subject: line("one line"),
  text: text.describe("the words; a link may open a page, never act"),
  channel: text.optional().describe("page, smtp or a webhook of trust.yaml; default: notify.default of config.yaml"),
  urgent: z.boolean().optional().describe("quiet hours do not hold it back"),
  key: text
    .optional()
    .describe(
      "sent once for each key of this agent, whatever it says the next time: name what is told in it; without one, each call is sent",
    ),
});

/** A line break in a subject or an address would be another header of the mail. */
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
  // Whatever the script says: who is told of an act is told that it is not verified.
  const { not_verified: open } = standing(ctx.writes ?? []);
  const words = [p.text, ...(open.length === 0 ? [] : ["", "Not verified:", ...open])].join("\n");
  const to = p.to === null ? { to: "no one: no address is known", channel: "page" } : { to: p.to };
  const { due, ...sent } = await ctx.ports.notices.send({ ...p, ...to, text: words, key, run, agent }, { now: ctx.now, live });
  const at = new Date(due).toISOString();
  if (due > ctx.now) ctx.ports.log(`Quiet hours: "${p.subject}" to ${to.to} goes out at ${at}.`);
  return { ...sent, due: at };
}

export const notify_send = definePrimitive({
  name: "notify_send",
  effect: "notify",
  idempotent: "key",
  summary: "Notify a person by mail, webhook or on the page; quiet hours delay what is not urgent.",
  params,
  returns: z.object({ notice: z.string(), channel: z.string(), state: z.string(), due: z.string() }),
  errors: ["NOTICE_CHANNEL", "NOTICE_ADDRESS"],
  example: `notify_send({ to: "ann@example.com", subject: "Invoice INV-7 is overdue", text: "30 days. Please look." })`,
  run: (p, ctx) => send(p, ctx, true),
  dryRun: (p, ctx) => send(p, ctx, false),
});
