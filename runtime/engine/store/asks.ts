/**
 * Requests to the meta-agent: how each ended, and its messages and notes, one per row. Each row is durable before anything follows from it,
 * so an interrupted request continues where it was. meta/requests.ts defines the documents.
 */
import type { Database } from "./database.ts";

export interface AskRecord<End> {
  id: number;
  at: number;
  text: string;
  /** The person whose key made the request; null without a key. */
  by: string | null;
  /** The commit it works on, and the version of the prompt it began with. */
  base: string;
  prompt: string;
  /** Null while it is in progress or interrupted. */
  end: End | null;
  endedAt: number | null;
}

type Stored = Omit<AskRecord<never>, "end" | "endedAt"> & { end: string | null; ended_at: number | null };

export interface AskStore<End, Row extends { n: number; at: number }> {
  /** Together with its first row: without one it could never be continued. */
  create(one: Pick<AskRecord<End>, "at" | "text" | "by" | "base" | "prompt">, first: Omit<Row, "n" | "at">): AskRecord<End>;
  get(id: number): AskRecord<End> | null;
  /** Newest first. */
  list(limit: number): AskRecord<End>[];
  /** From row `from` on (the first is 1). */
  rows(id: number, from?: number): Row[];
  add(id: number, row: Omit<Row, "n">): void;
  end(id: number, end: End, at: number): void;
  reopen(id: number): void;
}

export function createAskStore<End, Row extends { n: number; at: number }>(database: Database): AskStore<End, Row> {
  const toAsk = ({ ended_at, end, ...row }: Stored): AskRecord<End> => ({
    ...row,
    end: end === null ? null : (JSON.parse(end) as End),
    endedAt: ended_at,
  });
  const set = (id: number, end: string | null, at: number | null) =>
    database.write(() => database.run("UPDATE asks SET end = ?, ended_at = ? WHERE id = ?", end, at, id));
  const add = (id: number, at: number, document: object): void => {
    const sql =
      "INSERT INTO ask_rows (ask, n, at, document) VALUES (?1, (SELECT coalesce(max(n), 0) + 1 FROM ask_rows WHERE ask = ?1), ?2, ?3)";
    database.write(() => database.run(sql, id, at, JSON.stringify(document)));
  };
  return {
    create: ({ at, text, by, base, prompt }, first) =>
      database.write(() => {
        const sql = "INSERT INTO asks (at, text, by, base, prompt) VALUES (?, ?, ?, ?, ?) RETURNING *";
        const ask = toAsk(database.get<Stored>(sql, at, text, by, base, prompt) as Stored);
        add(ask.id, at, first);
        return ask;
      }),
    get(id) {
      const row = database.get<Stored>("SELECT * FROM asks WHERE id = ?", id);
      return row === undefined ? null : toAsk(row);
    },
    list: (limit) => database.all<Stored>("SELECT * FROM asks ORDER BY id DESC LIMIT ?", limit).map(toAsk),
    rows: (id, from = 1) =>
      database
        .all<{ n: number; at: number; document: string }>(
          "SELECT n, at, document FROM ask_rows WHERE ask = ? AND n >= ? ORDER BY n",
          ...[id, from],
        )
        .map(({ document, ...row }) => ({ ...(JSON.parse(document) as Row), ...row })),
    add: (id, { at, ...row }) => add(id, at, row),
    end: (id, end, at) => set(id, JSON.stringify(end), at),
    reopen: (id) => set(id, null, null),
  };
}
