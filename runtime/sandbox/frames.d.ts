/** Types of frames.js, which is plain JavaScript because the jitless child imports it. */
export interface Frame {
  kind: number;
  /** Parsed JSON from the other process: check before use. */
  head: unknown;
  body: Buffer;
}
export const FRAME: Readonly<Record<"READY" | "JOB" | "CALL" | "VALUE" | "SUSPEND" | "STOP" | "END" | "COMPILE" | "COMPILED", number>>;
export function encodeFrame(kind: number, head: unknown, body?: string | Uint8Array): Buffer;
export function createFrameReader(onFrame: (frame: Frame) => void, max: () => number): { push(chunk: Buffer): void };
export function readFrame(fd: number): Frame | null;
export function writeFrame(fd: number, frame: Buffer): boolean;
export const SERVED_NONE: number;
export function servedHash(before: number, seq: number, step: { name: string; params: string }): number;
