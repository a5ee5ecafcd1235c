/** What proves that a write was not taken, the same for every protocol. Any other error leaves open whether it happened. */
import { ClearedError } from "../../kernel/errors.ts";

/** HTTP: the request was not carried out, or belongs to another address. Not 408, 409, 499, 302, 303 or 5xx, which may come after the act. */
const STATUSES = [301, 307, 308, 400, 402, 404, 410, 412, 422, 423];
/** These are of the request, before it is given on: no word in the answer makes a doubt of them. */
const AT_THE_DOOR = [401, 403, 405, 411, 413, 414, 415, 428, 429, 431, 451];
/** JSON-RPC: it cannot be read, or asks for nothing that there is. Not -32602 and -32600, with which SDKs also refuse what a tool answered after its act. */
const CODES = [-32700, -32601];

const UNANSWERED =
  /^50[234]\b|(?:\b(?:http|status|code)\b["\s:#=-]{0,4}|\berror\b[\s:#=-]{0,3})(?:408|499|5\d\d)\b(?![.,]\d)|(?<!some)tim(?:e[ds]?|ing)[ _-]?out|deadline.exceeded|bad.gateway|service.unavailable|temporar.{0,9}(?:unavailable|error|fail)|\bE(?:CONN|PIPE)|socket hang|connection.(?:reset|closed|lost|aborted)|broken pipe|network error|fetch failed/i;

/** Words of somebody who waited in vain for another's answer: what was asked of that one may happen still. */
export const isUnanswered = (text: string): boolean => UNANSWERED.test(text);

export const provesRefusal = (code: number, text: string): boolean =>
  AT_THE_DOOR.includes(code) || ((STATUSES.includes(code) || CODES.includes(code)) && !isUnanswered(text));

/** Nobody knows whether the write of this tool happened. `why`: the code of what it ended with. */
export const outcomeUnknown = (tool: string, says: string, why = "TOOL_FAILED"): ClearedError =>
  new ClearedError("TOOL_LOST", `${says}. Whether it happened is not known.`, { data: { tool, says, why } });
