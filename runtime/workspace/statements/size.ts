/** How large a statement may be. Apart from the parsers, so that listing import/ does not load them. */

/** Larger files are refused unread. */
export const SIZE_LIMIT = 64 * 1024 * 1024;

// The starter's script takes all of its second of CPU for 50,000 short rows on a quiet machine, for 20,000 on one with a load of fifteen.
/** What one run gets of statements, well within the default limits of a script; the next run gets what is left. */
export const PORTION = { rows: 10_000, bytes: 8 * 1024 * 1024 };
