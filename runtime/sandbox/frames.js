/**
 * The frames on fd 3: `u32 size, u8 kind, u32 head length, head (JSON), body (bytes)`, little endian; size counts the bytes after it.
 * Plain JavaScript because child.js runs jitless, where Node cannot strip types.
 * Used by the host (chunks from a socket) and by both children (blocking reads).
 */
import { readSync, writeSync } from "node:fs";

/** @typedef {{ kind: number, head: unknown, body: Buffer }} Frame `head` is parsed JSON of the other process: check it before use. */

/** Kinds of frames: CALL, END, READY, COMPILED come from a child, the others from the host. */
export const FRAME = Object.freeze({
  READY: 1,
  JOB: 2,
  CALL: 3,
  VALUE: 4,
  SUSPEND: 6,
  STOP: 7,
  END: 8,
  COMPILE: 9,
  COMPILED: 10,
});

const HEADER = 9;

/** The hash of a history of which nothing has been served (FNV-1a, 32 bits). */
export const SERVED_NONE = 0x811c9dc5;

/**
 * The hash of a served history with one more step. It exposes a child that skipped, doubled or misread a step; a compromised child
 * knows the history anyway. Only the length of the parameters: the child is an interpreter, and does not otherwise need node:crypto.
 * @param {number} before @param {number} seq from 1 @param {{name: string, params: string}} step
 */
export function servedHash(before, seq, step) {
  const text = `${seq} ${step.name} ${step.params.length}\n`;
  let hash = before;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** @param {number} kind @param {unknown} head @param {string | Uint8Array} [body] */
export function encodeFrame(kind, head, body = "") {
  const headText = JSON.stringify(head);
  const headLength = Buffer.byteLength(headText);
  const bodyLength = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  const frame = Buffer.allocUnsafe(HEADER + headLength + bodyLength);
  frame.writeUInt32LE(HEADER - 4 + headLength + bodyLength, 0);
  frame[4] = kind;
  frame.writeUInt32LE(headLength, 5);
  frame.write(headText, HEADER);
  if (typeof body === "string") frame.write(body, HEADER + headLength);
  else frame.set(body, HEADER + headLength);
  return frame;
}

/** @param {Buffer} bytes after the size field @returns {Frame} */
function decode(bytes) {
  const headLength = bytes.readUInt32LE(1);
  if (5 + headLength > bytes.length) throw new Error("frame: head is longer than the frame");
  return { kind: bytes[0] ?? 0, head: JSON.parse(bytes.toString("utf8", 5, 5 + headLength)), body: bytes.subarray(5 + headLength) };
}

/**
 * Collects chunks and calls `onFrame` for each whole frame. `push` throws on a frame larger than `max()`.
 * @param {(frame: Frame) => void} onFrame @param {() => number} max
 */
export function createFrameReader(onFrame, max) {
  /** @type {Buffer[]} */
  let chunks = [];
  let length = 0;
  return {
    /** @param {Buffer} chunk */
    push(chunk) {
      chunks.push(chunk);
      length += chunk.length;
      for (;;) {
        if (length < 4) return;
        let first = /** @type {Buffer} */ (chunks[0]);
        if (first.length < 4) chunks = [(first = Buffer.concat(chunks))];
        const size = first.readUInt32LE(0);
        if (size > max() || size < 5) throw new Error("frame: impossible size");
        if (length < 4 + size) return;
        const all = chunks.length === 1 ? first : Buffer.concat(chunks);
        chunks = all.length > 4 + size ? [all.subarray(4 + size)] : [];
        length = all.length - 4 - size;
        onFrame(decode(all.subarray(4, 4 + size)));
      }
    },
  };
}

const small = Buffer.alloc(65536);

/** Blocks until a frame arrives; null when the other side has closed. @param {number} fd @returns {Frame | null} */
export function readFrame(fd) {
  // The other side waits for an answer before it sends again, so one read never contains two frames.
  let got = 0;
  while (got < 4) {
    const n = readSome(fd, small, got, small.length - got);
    if (n === 0) return null;
    got += n;
  }
  const size = small.readUInt32LE(0);
  const frame = Buffer.allocUnsafe(size);
  small.copy(frame, 0, 4, got);
  got -= 4;
  while (got < size) {
    const n = readSome(fd, frame, got, size - got);
    if (n === 0) return null;
    got += n;
  }
  return decode(frame);
}

/** @param {number} fd @param {Buffer} buffer @param {number} offset @param {number} length */
function readSome(fd, buffer, offset, length) {
  for (;;) {
    try {
      return readSync(fd, buffer, offset, length, null);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === "EAGAIN") continue;
      return 0;
    }
  }
}

/** Writes everything; false when the other side has closed. @param {number} fd @param {Buffer} frame */
export function writeFrame(fd, frame) {
  let sent = 0;
  while (sent < frame.length) {
    try {
      sent += writeSync(fd, frame, sent, frame.length - sent, null);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EAGAIN") return false;
    }
  }
  return true;
}
