/**
 * `people:`, `approvals:` and `changes:` of trust.yaml: who may decide what, and which profile answers a gate in their place up to an amount.
 * And `plugins:`: files of the workspace, and exact versions of packages in its node_modules.
 */
import { z } from "zod";
import { CURRENCY_PATTERN } from "../../kernel/money.ts";
import { normalText } from "../../rules/grounding.ts";
import { text } from "./fields.ts";

export const mailAddress = z.string().regex(/^[^\s@<>,;"]+@[^\s@<>,;"]+$/, "write one mail address");

export const peopleSchema = z
  .array(
    z.strictObject({
      // Decisions of profiles are recorded by profile:…, those of the runtime by runtime: no person may have such a name.
      name: text("the person's name").refine((name) => !/^profile:|^runtime$|^dry run$|, /.test(name), "choose another name"),
      key: z
        .string()
        .regex(/^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$/, "write the public half of an Ed25519 key (DER, base64), as cleared init does")
        // Two bits of the last letter belong to no byte: with them set, one key would have four texts.
        .refine(
          (key) => Buffer.from(key, "base64").toString("base64") === key,
          "write the key exactly as cleared init or trust --new-key does",
        ),
      roles: z.array(text("a rank or role of the ladder").toLowerCase(), { error: "write a list such as [manager, finance]" }).default([]),
      email: mailAddress.optional(),
      ids: z.record(z.string(), text("what the tool server calls this person"), { error: "write ids such as {erp: E-1002}" }).optional(),
    }),
    { error: "write a list of {name, key}" },
  )
  .refine((people) => new Set(people.map(({ name }) => normalText(name))).size === people.length, "two people have the same name")
  // One person with two names would count as two people where two must agree.
  .refine((people) => new Set(people.map((person) => person.key)).size === people.length, "two people have the same key");

const mode = z.union(
  [
    z.literal("person"),
    z.strictObject({
      mode: z.string().regex(/^(?:auto|tool:[^/\s]+\/\S+)$/, "write auto, or tool:SERVER/NAME"),
      up_to: z.string().regex(/^\d{1,30}(?:\.\d{1,18})?$/, 'write an amount as text, such as "100.00"'),
      currency: z.string().regex(CURRENCY_PATTERN, "write a currency such as USD"),
      fields: z.array(text("the name of a parameter"), { error: "write a list such as [cost_center]" }).max(100).default([]),
    }),
  ],
  { error: 'write person, or {mode: auto, up_to: "100.00", currency: USD}' },
);

export const approvalsSchema = z.strictObject({ default: mode.default("person"), agents: z.record(z.string(), mode).default({}) });

/** Kinds of widening of a proposed change. */
export const WIDENINGS = [
  "capability",
  "tool",
  "recipient",
  "host",
  "state",
  "gate",
  "policy",
  "case",
  "schedule",
  "trigger",
  "setting",
  "review",
  "command",
] as const;
export type WideningKind = (typeof WIDENINGS)[number];
export const changesSchema = z.strictObject({
  levels: z.partialRecord(z.enum([...WIDENINGS, "tainted", "any"]), text("a rank or role of the ladder").toLowerCase()).default({}),
  approvals: z.int({ error: "write how many people a change needs" }).min(1, "at least 1").max(9, "at most 9").default(1),
  two_people_for: z.array(z.enum(WIDENINGS), { error: `write a list of ${WIDENINGS.join(", ")}` }).default([]),
});

export type Person = z.output<typeof peopleSchema>[number];
/** Answers the gates of an agent instead of a person, up to an amount. */
export type ApprovalProfile = Exclude<z.output<typeof mode>, "person">;

/** The profile for an agent's gates; null: a person decides. */
export function profileFor(approvals: z.output<typeof approvalsSchema>, agent: string): ApprovalProfile | null {
  const chosen = Object.hasOwn(approvals.agents, agent) ? approvals.agents[agent] : approvals.default;
  return chosen === undefined || chosen === "person" ? null : chosen;
}

const WANTED =
  "write a .ts or .js file inside the workspace, such as plugins/bank.ts, or an exact package, such as {package: cleared-bank, version: 1.2.3}";

export const pluginsSchema = z.array(
  z.union(
    [
      z.string().refine(isLocalFile, WANTED),
      z.strictObject({
        package: z.string().regex(/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/, "write a package's name"),
        version: z.string().regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/, "write an exact version such as 1.2.3"),
      }),
    ],
    { error: WANTED },
  ),
  { error: "write a list of files and packages" },
);

function isLocalFile(path: string): boolean {
  return (
    /^[^/\\:][^\\:]*\.(?:ts|js|mjs)$/.test(path) &&
    !path.split("/").some((part) => part === ".." || part === "" || part === "." || part === ".git")
  );
}
