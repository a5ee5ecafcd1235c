/** Periodic work of a workspace's owner: one execution at a time, until stopped. */
import { setTimeout as sleep } from "node:timers/promises";
import { toWire } from "../kernel/errors.ts";

/**
 * `onError` is called once per failure, until the work succeeds or fails differently. pauseMs: how long to wait after a failure. stop waits for
 * the current execution, at most `graceMs`. atOnce: starts now, not after `everyMs`.
 */
export function keepLooking(
  everyMs: number,
  look: () => unknown,
  onError: (error: unknown) => void,
  { pauseMs = 0, graceMs, atOnce = false }: { pauseMs?: number; graceMs?: number; atOnce?: boolean } = {},
) {
  let busy: Promise<void> | null = null;
  let again = 0;
  let stopped = false;
  let failure = "";
  const turn = async (): Promise<void> => {
    try {
      await look();
      failure = "";
    } catch (error) {
      const { message } = toWire(error);
      if (message !== failure && !stopped) onError(error);
      failure = message;
      again = performance.now() + pauseMs;
    }
  };
  const begin = () => {
    if (performance.now() < again) return;
    busy ??= turn().finally(() => {
      busy = null;
    });
  };
  const timer = setInterval(begin, everyMs);
  if (atOnce) begin();
  return {
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(timer);
      await (graceMs === undefined ? busy : Promise.race([busy, sleep(graceMs, undefined, { ref: false })]));
    },
  };
}
