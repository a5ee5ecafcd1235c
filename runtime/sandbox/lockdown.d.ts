/** Types of lockdown.js, which is plain JavaScript because the jitless child imports it. */
export const LOCKED: readonly string[];
export function lockDown(): { exit(): never; gc(): void; cpuUsage(): { user: number; system: number } };
