/** How long to wait for what must come: where others want the cores as well, everything takes as many times as long as they are too few. */
import { availableParallelism, loadavg } from "node:os";

export function patiently(ms: number): number {
  return ms * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}
