/**
 * Work that takes over a second shows its progress: a bar on standard error, if that is a terminal, erased when the work ends. The counts come
 * from whoever does the work, this process or the owner behind the socket.
 */
import type { Api } from "../app/api.ts";
import type { withApi } from "../app/connect.ts";
import type { Progress } from "../app/host.ts";

const AFTER_MS = 1000;
const EVERY_MS = 200;
const WIDTH = 24;

/** Work of a command in a workspace, through one of the ways of app/connect.ts. `files`: how many statements it covers, if known. */
export function atWork<T>(reach: typeof withApi, dir: string, work: (api: Api) => Promise<T>, files: number | null = null): Promise<T> {
  return reach(dir, (api) => withProgress(api, () => work(api), files));
}

export async function withProgress<T>(api: Api, work: () => Promise<T>, files: number | null = null): Promise<T> {
  if (process.stderr.isTTY !== true) return work();
  const began = Date.now();
  const before = await api.progress();
  let shown = false;
  let asking = false;
  const show = async () => {
    if (asking || Date.now() - began < AFTER_MS) return;
    asking = true;
    const now = await api.progress().catch(() => before); // the work itself reports an error of the owner
    asking = false;
    if (over) return;
    shown = true;
    process.stderr.write(
      `\r\x1b[2K${progressLine({ ...now, calls: now.calls - before.calls, files: now.files - before.files }, files, Date.now() - began)}`,
    );
  };
  let over = false;
  const timer = setInterval(() => void show(), EVERY_MS);
  try {
    return await work();
  } finally {
    over = true;
    clearInterval(timer);
    if (shown) process.stderr.write("\r\x1b[2K");
  }
}

/** `[====>                   ] 1/4 files, 1204 calls, 3 s`; if the total is unknown, the bar moves back and forth. */
export function progressLine({ calls, files, tried }: Progress, total: number | null, ms: number): string {
  if (tried !== undefined) return `${tried.done} of ${tried.total} recorded runs tried, ${Math.floor(ms / 1000)} s`;
  const known = total !== null && total > 0;
  const at = known ? Math.min(WIDTH, Math.round((files / total) * WIDTH)) : bounce(Math.floor(ms / EVERY_MS));
  const bar = known ? `${"=".repeat(Math.max(0, at - 1))}${at > 0 ? ">" : ""}` : `${" ".repeat(at)}<=>`;
  return `[${bar.padEnd(WIDTH).slice(0, WIDTH)}] ${known ? `${files}/${total} files, ` : ""}${calls} calls, ${Math.floor(ms / 1000)} s`;
}

function bounce(tick: number): number {
  const room = WIDTH - 3;
  const at = tick % (2 * room);
  return at < room ? at : 2 * room - at;
}
