/** What the owner of a workspace looks at again and again: one look at a time, until it is stopped. */
import { setTimeout as sleep } from "node:timers/promises";
import { toWire } from "../kernel/errors.ts";

/**
 * `onError` hears of a failure once, until a look succeeds or fails in another way. pauseMs: how long nothing is looked at after one. stop waits
 * for the look that is under way, or for `graceMs`. atOnce: the first look is now, not after `everyMs`.
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
