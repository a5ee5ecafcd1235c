/**
 * The four ends of a request: a question to the user, an answer, a proposal, or a reason for declining. A submitted change is judged like
 * anybody's, by the same checks and on all recorded runs; it is returned with the findings at most three times.
 */
import { z } from "zod";
import { claimSchema } from "../change/proposal-types.ts";
import { formatAt } from "../kernel/errors.ts";
import { count, oneLine } from "../kernel/text.ts";
import { CONFIG } from "../workspace/layout.ts";
import { figuresOf } from "./answers.ts";
import { deriveAgain } from "./second-derivation.ts";
import { outsideIn } from "./quarantine.ts";
import { type AskEnd, isByAgent } from "./requests.ts";
import { NEVER_ASKED, asksForSecret, strangeAddresses, withoutAddresses, wordsOf } from "./telling.ts";
import { type Situation, type Tool, type ToolResult, type Workshop, no, told, tool, words } from "./workshop.ts";

// How often a submission may be returned before the request ends.
const ROUNDS = 3;

const OTHERWISE =
  "Mend what is wrong: the code, or the description, which has to say what decides it. Handed in again, the card tells the person what still differs.";
const WANTED_SECRET =
  "The model declined, and its words asked for a secret: they are left out. Never give one; `cleared secrets set` stores it.";
const UNWATCHED = "A task began this request, and nobody waits for what you say: end it with submit or decline.";

const submission = z.strictObject({
  title: words(200).describe("what changes, in one line, as somebody would say it who keeps the books"),
  reason: words(1000).describe("why"),
  claims: z.array(claimSchema).min(1).max(50),
  says: z.string().max(1500).describe("what else the person should know, in plain words; shown below the facts as yours"),
});

export const ENDS: Record<string, Tool> = {
  ask_user: tool({
    about:
      "Ask the user one question that only they can answer, with up to five answers to choose from. It ends your turn. Never ask for a password, key or account number.",
    params: z.strictObject({ question: words(500), options: z.array(words(100)).max(5).default([]) }),
    async run({ question, options }, at, shop) {
      if (isByAgent(at.ask)) return no(UNWATCHED, "asks nobody");
      const said = [question, ...options].join("\n");
      if (asksForSecret(said)) return no(NEVER_ASKED, "asks for a secret");
      const strange = await unfitWords(said, at, shop);
      if (strange !== null) return no(strange, "asks");
      return {
        result: "asked",
        note: `asks: ${oneLine(question, 120)}`,
        end: {
          ...{ kind: "question", question: oneLine(question, 500), options: options.map((one) => oneLine(one, 100)) },
          outside: outsideIn(at.messages),
        },
      };
    },
  }),
  answer: tool({
    about:
      "End with an answer to a question. Each figure has the source that computed it (try_1, or a recorded run) and the ids of the entries behind it. Numbers in the text must be figures or stand in those results.",
    params: z.strictObject({
      text: words(2000),
      figures: z
        .array(
          z.strictObject({
            label: words(120),
            value: words(60),
            source: words(60),
            entries: z.array(z.string().max(40)).max(5000).default([]),
          }),
        )
        .max(20)
        .default([]),
    }),
    async run({ text, figures }, at, shop) {
      if (isByAgent(at.ask)) return no(UNWATCHED, "answers nobody");
      const strange = await unfitWords([text, ...figures.flatMap(({ label, value }) => [label, value])].join("\n"), at, shop);
      if (strange !== null) return no(strange, "answers");
      const { figures: found, wrong } = await figuresOf(text, figures, at, shop);
      if (wrong.length === 0) return { result: "answered", note: "answers", end: { kind: "answer", text, figures: found } };
      return sentBack(wrong, at, shop, "answer");
    },
  }),
  submit: tool({
    about:
      "End with your draft as a proposal. Everything is checked and tried on all recorded runs; your claims are compared with what is computed. What is found comes back at most three times.",
    params: submission,
    run: submit,
  }),
  decline: tool({
    about: "End without a change: why not, or that it is so already, in one sentence.",
    params: z.strictObject({ reason: words(600) }),
    run: async ({ reason }, at, shop) => ({
      result: "ended",
      note: "declines",
      // Declining must always end the request: the words are shown without addresses, and not at all if they ask for a secret.
      end: declined(asksForSecret(reason, true) ? WANTED_SECRET : oneLine(withoutAddresses(reason, await knownTo(at, shop)), 600), {
        files: [...at.files.keys()],
      }),
    }),
  }),
};

/** Texts from which a person knows addresses: their own words, and the settings. */
const knownTo = async (at: Situation, { base }: Workshop): Promise<string> => `${wordsOf(at)}\n${(await base.read(CONFIG)) ?? ""}`;

/** Why a text must not be shown to a person, or null. */
async function unfitWords(said: string, at: Situation, shop: Workshop): Promise<string | null> {
  const [first] = strangeAddresses(said, await knownTo(at, shop));
  if (first === undefined) return asksForSecret(said, true) ? NEVER_ASKED : null;
  return `The person has not named ${first.slice(0, 100)}: addresses that you have read somewhere are not passed on to them. Say it without.`;
}

type Declined = Extract<AskEnd, { kind: "decline" }>;

export const declined = (
  reason: string,
  { findings = [], files = [], open = false }: Partial<Pick<Declined, "findings" | "files" | "open">> = {},
): Declined => ({ kind: "decline", reason, findings, files, open });

async function submit({ title, reason, claims, says }: z.output<typeof submission>, at: Situation, shop: Workshop): Promise<ToolResult> {
  const { ask, files, model, messages } = at;
  if (files.size === 0)
    return no("Your draft is empty: write what is to change, or end with answer, ask_user or decline.", "submits nothing");
  const draft = {
    ...{ title: oneLine(title, 200), reason, by: shop.by, files: Object.fromEntries(files) },
    asked: { request: ask.id, at: ask.at, model, claims: claims as never, says, outside: outsideIn(messages) },
  };
  const strange = await unfitWords([title, reason, says].join("\n"), at, shop);
  if (strange !== null) return no(strange, "submits");
  const problems = await shop.problems(files);
  if (problems.length > 0) return sentBack(told(problems), at, shop, "submit");
  const report = await shop.judge(draft);
  const failed = report.checks.filter(({ status }) => status === "failed");
  const wrong = failed.flatMap(({ check, says: seen, findings }) => {
    const stopping = findings.filter(({ remark }) => remark !== true).slice(0, 10);
    if (stopping.length === 0) return [`${check}: ${seen}`];
    return stopping.map(({ at: place, code, message }) => `${check}: ${formatAt(place)} ${code}: ${oneLine(message, 700)}`);
  });
  if (failed.length > 0) return sentBack(wrong, at, shop, "submit");
  const derived = await deriveAgain(files, shop);
  const otherwise = derived.flatMap(({ path, says: seen, differs }) =>
    differs ? [`second derivation: ${path}: ${seen}. ${OTHERWISE}`] : [],
  );
  // It has been reported once: from then on a person decides which of the two is right.
  if (otherwise.length > 0 && !at.refused.flat().some((one) => one.startsWith("second derivation: ")))
    return sentBack(otherwise, at, shop, "submit");
  const asked = derived.length === 0 ? draft.asked : { ...draft.asked, derived: derived.map(({ says: seen }) => seen) };
  const { id, number, title: named } = await shop.propose({ ...draft, asked }, report);
  return { result: { proposal: number }, note: `proposal ${number}: ${named}`, end: { kind: "card", proposal: id, number, title: named } };
}

/** The end of a request without repair, in an evaluation. */
export const unrepaired = (findings: readonly string[], files: Situation["files"]): Declined =>
  declined("It did not pass, and nothing comes back to be repaired.", { findings: findings.slice(0, 10), files: [...files.keys()] });

/** Returns a submission with the findings; the request ends if that was the last time or the findings are the same as before. */
function sentBack(findings: readonly string[], { refused, files }: Situation, { arm }: Workshop, what: string): ToolResult {
  const before = refused.at(-1);
  const repeats = before !== undefined && before.join("\n") === findings.join("\n");
  refused.push([...findings]);
  const note = `${what}: ${count(findings.length, "finding")}`;
  if (arm === "none") return { result: "ended", note, failed: true, end: unrepaired(findings, files) };
  const result = { findings: [...findings], rounds_left: ROUNDS - refused.length + 1 };
  if (!repeats && refused.length <= ROUNDS) return { result, note, failed: true };
  const reason = repeats
    ? "It did not pass: the same findings came back twice, so another try would not mend them."
    : `It did not pass after ${ROUNDS} repairs.`;
  return { result, note, failed: true, end: declined(reason, { findings: findings.slice(0, 10), files: [...files.keys()] }) };
}
