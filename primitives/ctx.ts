/** The run itself: its log, its events, its clock, its mode. The clock is the run's logical one, so a replay sees the same time. */
import { z } from "zod";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { OF_RUN, json, text } from "./_shapes.ts";

export const ctx_log = definePrimitive({
  name: "ctx_log",
  effect: "control",
  access: "context",
  summary: "Write a line to the run's log.",
  params: z.object({ message: text.describe("one line") }),
  returns: z.null(),
  example: `ctx_log("Parsed 12 transactions")`,
  run: (p, ctx) => {
    ctx.ports.log(p.message);
    return null;
  },
});

export const ctx_emit = definePrimitive({
  name: "ctx_emit",
  effect: "control",
  access: "notify",
  summary: "Emit an event; agents with `on_event:` of that name start after this run's commit.",
  params: z.object({
    event: text
      .refine((name) => /^[a-z][a-z0-9_.-]{0,79}$/.test(name), "is a name in lower case, such as import.done")
      .meta({ ts: "string" })
      .describe("name of the event"),
    payload: json.optional().describe("becomes the input of the agents it starts"),
  }),
  returns: z.null(),
  example: `ctx_emit("import.done")`,
  run: (p, ctx) => {
    ctx.ports.emit(p.event, p.payload ?? null);
    return null;
  },
});

export const ctx_dry_run = definePrimitive({
  name: "ctx_dry_run",
  ...OF_RUN,
  summary: "True unless this run is live.",
  params: z.object({}),
  returns: z.boolean(),
  example: "ctx_dry_run()",
  run: (_, ctx) => ctx.run.mode !== "live",
});

export const ctx_today = definePrimitive({
  name: "ctx_today",
  ...OF_RUN,
  summary: "Today in the workspace's time zone, YYYY-MM-DD.",
  params: z.object({}),
  returns: z.string(),
  example: "ctx_today()",
  run: (_, ctx) => ctx.today,
});

export const ctx_session = definePrimitive({
  name: "ctx_session",
  effect: "read",
  remote: true,
  access: "context",
  stated: true,
  summary: "The earlier messages of this task's session, and its runs; empty for a run that is not a task of a session.",
  params: z.object({}),
  returns: z.object({
    turns: z.array(z.object({ role: z.enum(["user", "agent"]), text: z.string() })).describe("of a long session only the last ones"),
    earlier: z.string().describe("of a long session: the sentences of older turns with a figure, an id or a name"),
    runs: z.array(z.object({ run: z.string(), agent: z.string(), input: json, status: z.string(), outcome: z.string().nullable() })),
  }),
  example: "ctx_session()",
  run: (_, ctx) => ctx.ports.session(),
});

export const ctx_now = definePrimitive({
  name: "ctx_now",
  ...OF_RUN,
  summary: "The time now in UTC, as ISO text.",
  params: z.object({}),
  returns: z.string(),
  example: "ctx_now()",
  run: (_, ctx) => new Date(ctx.now).toISOString(),
});
