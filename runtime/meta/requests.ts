/**
 * Requests to the meta-agent as the store keeps them: who asked what, every message as it came, what was told meanwhile, and the one end.
 * Each row is durable before anything follows from it, so that a request that was cut off goes on where it stood.
 */
import type { Database } from "../engine/database.ts";
import type { Json, LlmMessage, LlmPart } from "../kernel/ports.ts";

/** A figure of an answer, with what stands behind it. */
export interface Figure {
  label: string;
  value: string;
  /** The execution that computed it (`try_1`), or a recorded run whose result has it. */
  source: string;
  entries: { id: string; date: string; description: string; amount: string }[];
  /** How the entries prove it: their sum on an account, or their number; null: a script computed it from them. */
  proof: string | null;
}

export type AskEnd =
  | { kind: "card"; proposal: string; number: number; title: string }
  | { kind: "answer"; text: string; figures: Figure[] }
  /** outside: where text from outside stood that was read before it was asked. */
  | { kind: "question"; question: string; options: string[]; outside?: string[] }
  /** files: what it had changed by then. findings: what failed. open: it may go on. */
  | { kind: "decline"; reason: string; findings: string[]; files: string[]; open: boolean };

/** What whoever is asked should know of the question: an order in such a text may be behind it. */
export const askedAfter = (outside: readonly string[]): string =>
  `Asked after reading text from outside (${outside.join(", ")}): answer only what you would tell a stranger, and never a password, a code or the number of a card or account.`;

export interface Ask {
  id: number;
  at: number;
  text: string;
  /** Whose key asked; null for somebody without one. */
  by: string | null;
  /** The commit it works on, and which prompt it was made with. */
  base: string;
  prompt: string;
  /** Null while it is worked on, or was cut off. */
  end: AskEnd | null;
  endedAt: number | null;
}

/** A task from outside began it, through an agent: nobody waits for an answer, and it may add files and change none. */
export const isByAgent = ({ by }: Pick<Ask, "by">): boolean => by?.startsWith("agent:") === true;

/** The run that such a request is about. */
export const runIn = ({ text }: Pick<Ask, "text">): string => /\brun_\w+/.exec(text)?.[0] ?? "";

/** What happened, in order: a message of the conversation, or a line for whoever watches. */
export interface AskRow {
  n: number;
  at: number;
  note?: string;
  message?: LlmMessage;
  /** It was cut off at the limit of tokens. */
  cut?: true;
  /** Of an answer: which model gave it, and what it cost in US dollars; null where no price is known. */
  model?: string;
  cost?: string | null;
}

type Call = Extract<LlmPart, { type: "tool_call" }>;
export type Result = Extract<LlmPart, { type: "tool_result" }>;

const partsOf = ({ content }: LlmMessage): LlmPart[] => (typeof content === "string" ? [] : content);

export const callsIn = (message: LlmMessage): Call[] => partsOf(message).filter((part) => part.type === "tool_call");
const resultsIn = (message: LlmMessage): Result[] => partsOf(message).filter((part) => part.type === "tool_result");

/** The calls that have a result, oldest first. Some servers give every call the same id: a result belongs to the answer right before it. */
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

export interface Asks {
  /** With the message it begins with: without one it could never go on. */
  create(one: Pick<Ask, "at" | "text" | "by" | "base" | "prompt">, first: LlmMessage): Ask;
  get(id: number): Ask | null;
  /** Newest first. */
  list(limit: number): Ask[];
  /** From row `from` on (the first is 1). */
  rows(id: number, from?: number): AskRow[];
  add(id: number, row: Omit<AskRow, "n">): void;
  end(id: number, end: AskEnd, at: number): void;
  reopen(id: number): void;
}

type Stored = Omit<Ask, "end" | "endedAt"> & { end: string | null; ended_at: number | null };

const toAsk = ({ ended_at, end, ...row }: Stored): Ask => ({
  ...row,
  end: end === null ? null : (JSON.parse(end) as AskEnd),
  endedAt: ended_at,
});

export function createAsks(database: Database): Asks {
  const get = (id: number): Ask | null => {
    const row = database.get<Stored>("SELECT * FROM asks WHERE id = ?", id);
    return row === undefined ? null : toAsk(row);
  };
  const set = (id: number, end: Json, at: number | null) =>
    database.write(() =>
      database.run("UPDATE asks SET end = ?, ended_at = ? WHERE id = ?", end === null ? null : JSON.stringify(end), at, id),
    );
  const add: Asks["add"] = (id, { at, ...row }) =>
    database.write(() => {
      const sql =
        "INSERT INTO ask_rows (ask, n, at, document) VALUES (?1, (SELECT coalesce(max(n), 0) + 1 FROM ask_rows WHERE ask = ?1), ?2, ?3)";
      database.run(sql, id, at, JSON.stringify(row));
    });
  return {
    ...{ get, add },
    create: ({ at, text, by, base, prompt }, first) =>
      database.write(() => {
        const sql = "INSERT INTO asks (at, text, by, base, prompt) VALUES (?, ?, ?, ?, ?) RETURNING *";
        const ask = toAsk(database.get<Stored>(sql, at, text, by, base, prompt) as Stored);
        add(ask.id, { at, message: first });
        return ask;
      }),
    list: (limit) => database.all<Stored>("SELECT * FROM asks ORDER BY id DESC LIMIT ?", limit).map(toAsk),
    rows: (id, from = 1) =>
      database
        .all<{ n: number; at: number; document: string }>(
          "SELECT n, at, document FROM ask_rows WHERE ask = ? AND n >= ? ORDER BY n",
          id,
          from,
        )
        .map(({ n, at, document }) => ({ n, at, ...(JSON.parse(document) as Omit<AskRow, "n" | "at">) })),
    end: (id, end, at) => set(id, end as unknown as Json, at),
    reopen: (id) => set(id, null, null),
  };
}
