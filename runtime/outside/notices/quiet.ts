/** Quiet hours: what is not urgent waits for the next minute whose wall clock is not quiet. Right over midnight and over both changes of the clock, because every minute is asked. */

export interface QuietHours {
  /** HH:MM; before `to` they begin and end on one day, else they go over midnight. */
  from: string;
  to: string;
  /** IANA name. */
  timezone: string;
}

const MINUTE = 60_000;

/** `now`, or the first full minute after it (ms) that is not quiet. */
export function nextOpen(now: number, quiet: QuietHours | null): number {
  if (quiet === null || !isQuiet(now, quiet)) return now;
  let at = Math.floor(now / MINUTE) * MINUTE;
  // Ends: `from` differs from `to`, so a day has an open minute (at a change of the clock at the latest the next one has).
  do at += MINUTE;
  while (isQuiet(at, quiet));
  return at;
}

function isQuiet(ms: number, { from, to, timezone }: QuietHours): boolean {
  const clock = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone).toPlainTime().toString().slice(0, 5);
  return from < to ? from <= clock && clock < to : from <= clock || clock < to;
}
