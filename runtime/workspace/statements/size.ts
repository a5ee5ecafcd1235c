/** How large a statement may be. Apart from the parsers, so that listing import/ does not load them. */

/** Larger files are refused unread. */
export const SIZE_LIMIT = 64 * 1024 * 1024;
