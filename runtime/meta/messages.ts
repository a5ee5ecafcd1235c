/** Calls and results in a conversation. Some servers give every call the same id: a result belongs to the answer right before it. */
import type { LlmMessage, LlmPart } from "../kernel/ports.ts";

export type Call = Extract<LlmPart, { type: "tool_call" }>;
export type Result = Extract<LlmPart, { type: "tool_result" }>;

const partsOf = ({ content }: LlmMessage): LlmPart[] => (typeof content === "string" ? [] : content);

export const callsIn = (message: LlmMessage): Call[] => partsOf(message).filter((part) => part.type === "tool_call");
const resultsIn = (message: LlmMessage): Result[] => partsOf(message).filter((part) => part.type === "tool_result");

/** The calls that have a result, oldest first. */
export function callsMade(messages: readonly LlmMessage[]): { call: Call; result: Result }[] {
  return messages.flatMap((message, i) => {
    const next = messages[i + 1];
    const results = next === undefined ? [] : resultsIn(next);
    return callsIn(message).flatMap((call, n) => {
      const result = results[n];
      return result === undefined ? [] : [{ call, result }];
    });
  });
}
