/** What a channel is handed and how its failure is told: shared by mail and webhooks. */
import type { Notice } from "../../kernel/ports.ts";
import { oneLine } from "../../kernel/text.ts";

/** A notice on its way out. `id` is what the receiver deduplicates by; `at` (ms) is when it was written, the same at each try. */
export interface Letter extends Notice {
  id: string;
  at: number;
  /** Page of its run, or null; opening it changes nothing. */
  link: string | null;
}

/**
 * How a try ended. `retry`: surely not delivered, may be later. `never`: surely not, and a repeat would end alike.
 * `unknown`: nobody can tell.
 */
export type Delivered = { status: "sent" } | { status: "retry" | "never" | "unknown"; why: string };

// A person reads it: one line, not a page of HTML.
export const whyOf = (error: unknown): string => oneLine(error instanceof Error ? error.message : String(error));
