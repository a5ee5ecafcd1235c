/**
 * A model that answers from a file, for trying agents without a server and for tests. One JSON object per line:
 * {"when": ["text of the request", ...], "turn": 0, "answer": "text" | {...} | [parts], "stop": "end"}. The first line whose texts all occur in
 * the request, and whose turn equals the number of earlier answers, answers; it is stateless, so a resumed run gets the same answers.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { ClearedError } from "../kernel/errors.ts";
import type { Json, LlmPart } from "../kernel/ports.ts";
import { type Backend, Fault } from "./backend.ts";

const line = z.strictObject({
  when: z.array(z.string()).default([]),
  turn: z.int().min(0).optional(),
  answer: z.json(),
  stop: z.enum(["end", "tools", "max_tokens", "refusal", "context_exceeded", "stop_sequence"]).optional(),
  usage: z.strictObject({ input: z.int().min(0), output: z.int().min(0) }).optional(),
});

/** @throws CONFIG_INVALID at the line that cannot be parsed */
export function createScripted(file: string, shown: string): Backend {
  const lines = read(file, shown);
  return {
    send: async ({ id, system, messages, tools }) => {
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const asked = JSON.stringify([system, messages, tools.map(({ name }) => name)]);
      const found = lines.find(
        (one) => (one.turn ?? turn) === turn && one.when.every((text) => asked.includes(JSON.stringify(text).slice(1, -1))),
      );
      if (found === undefined) throw new Fault("refused", `${shown} has no line for this request`);
      const content = partsOf(found.answer as Json);
      const { input, output } = found.usage ?? {
        input: Math.ceil(asked.length / 4),
        output: Math.ceil(JSON.stringify(content).length / 4),
      };
      const stop = found.stop ?? (content.some(({ type }) => type === "tool_call") ? "tools" : "end");
      return { content, stop, usage: { input, output, cache_read: 0, cache_write: 0 }, model: id };
    },
  };
}

function partsOf(answer: Json): LlmPart[] {
  if (typeof answer === "string") return [{ type: "text", text: answer }];
  if (Array.isArray(answer)) return answer as unknown as LlmPart[];
  return [{ type: "text", text: JSON.stringify(answer) }];
}

function read(file: string, shown: string): z.output<typeof line>[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ClearedError("CONFIG_INVALID", `${shown} cannot be read: trust.yaml names it as a scripted model. Correct \`file:\`.`, {
      cause,
    });
  }
  return text.split("\n").flatMap((row, i) => {
    if (row.trim() === "") return [];
    try {
      return [line.parse(JSON.parse(row))];
    } catch (cause) {
      throw new ClearedError("CONFIG_INVALID", `${shown}: line ${i + 1} is not {"when": [...], "answer": ...}.`, {
        at: { file: shown, line: i + 1 },
        cause,
      });
    }
  });
}
