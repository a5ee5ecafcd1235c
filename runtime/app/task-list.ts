/** Tasks of one caller, those that changed last first, page by page. */
import { setImmediate as turn } from "node:timers/promises";
import { ClearedError } from "../kernel/errors.ts";
import type { TaskRow, TaskStore, TaskState } from "../engine/store/tasks.ts";
import type { TaskView } from "./task-view.ts";

interface TaskQuery {
  context?: string | undefined;
  state?: TaskState | undefined;
  since?: number | undefined;
  /** As `next` of the page before. */
  page?: string | undefined;
  limit: number;
}

type Found = ReturnType<TaskStore["list"]>[number];

export function createList(store: TaskStore, viewOf: (row: TaskRow) => Promise<TaskView>) {
  /** `show`: what is wanted of each; a page of large tasks is not held whole. @throws TASK_REQUEST for what is no page */
  return async <T>({ owner }: { owner: string }, query: TaskQuery, show: (view: TaskView) => T) => {
    const { context, state, since, page, limit } = query;
    // Null: let go since it was found.
    const view = async ({ id }: Found): Promise<TaskView | null> => {
      const row = store.find(owner, id);
      return row === undefined ? null : viewOf(row);
    };
    const rows: Found[] = [];
    for (const one of store.list({ owner, context, since })) {
      // Others have their turns between: somebody may have given ten thousand.
      if (state !== undefined) await turn();
      if (state === undefined || (await view(one))?.status.state === state) rows.push(one);
    }
    const at = page === undefined ? null : placeOf(page);
    const rest = at === null ? rows : rows.filter(({ moved, tid }) => moved < at.moved || (moved === at.moved && tid < at.tid));
    const shown = rest.slice(0, limit);
    const tasks: T[] = [];
    for (const one of shown) {
      const now = await view(one);
      if (now !== null) tasks.push(show(now));
    }
    return { tasks, next: rest.length > limit ? nameOf(shown.at(-1)) : "", total: rows.length };
  };
}

function nameOf(last: { moved: number; tid: number } | undefined): string {
  return last === undefined ? "" : Buffer.from(`${last.moved} ${last.tid}`).toString("base64url");
}

/** @throws TASK_REQUEST for what is no page token */
function placeOf(page: string): { moved: number; tid: number } {
  const found = /^(\d+) (\d+)$/.exec(Buffer.from(page, "base64url").toString());
  if (found === null) throw new ClearedError("TASK_REQUEST", "pageToken is not one of an answer before.", { data: { rpc: -32602 } });
  return { moved: Number(found[1]), tid: Number(found[2]) };
}
