/**
 * Who is at the other end of a loopback connection, as far as the kernel tells: Linux lists each socket with its user, and which process holds
 * it. On other systems peers cannot be told apart, and none is trusted.
 */
import { readdirSync, readlinkSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { parentOf, readProc } from "../kernel/processes.ts";

/** own: a program of this user that is found, and not in a jail. other: of another user except root, or a tool server. */
export type Peer = "own" | "other" | "unknown";

/** Tool servers of this process, each with its descendants: a browser sends its cookies to every port of the machine, including theirs. */
export const toolServers = new Set<number>();

const known = new WeakMap<Socket, Peer>();

export function peerOf(socket: Socket): Peer {
  return known.getOrInsertComputed(socket, () => (process.platform === "linux" ? lookUp(socket) : "unknown"));
}

const arrivals = new WeakMap<Socket, number>();
const tables = new Map<string, { at: number; text: string }>();

/** Call it when a connection arrives: a table of sockets read later contains it, and serves all earlier arrivals. */
export function noteArrival(socket: Socket): void {
  arrivals.set(socket, performance.now());
}

/** The table as it was at some moment after `since`; the kernel takes 4 ms to write it. */
function tableSince(name: string, since: number): string {
  let table = tables.get(name);
  if (table === undefined || table.at <= since) tables.set(name, (table = { at: performance.now(), text: readProc(name) ?? "" }));
  return table.text;
}

function lookUp(socket: Socket): Peer {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  const since = arrivals.get(socket) ?? Number.POSITIVE_INFINITY;
  const [here, there] = [rowEnd(localAddress, localPort), rowEnd(remoteAddress, remotePort)];
  // Our end is closing once the peer has closed its end, which is then listed as root's or not at all.
  const [ours, theirs] = [find(here, there, "\\w\\w", since), find(there, here, "01", since)];
  // If the kernel does not list our own end, its table says nothing about the other one.
  if (ours === null) return "unknown";
  if (theirs === null) return "other";
  if (theirs.uid !== process.getuid?.()) return theirs.uid === 0 ? "unknown" : "other";
  const holders = holdersSince(since).get(theirs.inode) ?? [];
  if (holders.some(isOfToolServer)) return "other";
  return holders.length > 0 && holders.every(isFree) ? "own" : "unknown";
}

/** One end of an IPv4 connection as the tables have it: either byte order, plain or mapped into IPv6. */
function rowEnd(address = "", port = 0): string {
  const hex = (one: number, length: number) => one.toString(16).toUpperCase().padStart(length, "0");
  const bytes = address.split(".").map((part) => hex(Number(part), 2));
  return `(?:0000000000000000(?:FFFF0000|0000FFFF))?(?:${bytes.join("")}|${bytes.toReversed().join("")}):${hex(port, 4)}`;
}

/** The socket with these two ends. `state`: 01 is established. */
function find(from: string, to: string, state: string, since: number): { uid: number; inode: string } | null {
  const row = new RegExp(`^ *\\d+: ${from} ${to} ${state} \\S+ \\S+ \\S+ +(\\d+) +\\d+ ([1-9]\\d*) `, "m");
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const found = row.exec(tableSince(table, since));
    if (found !== null) return { uid: Number(found[1]), inode: found[2] ?? "" };
  }
  return null;
}

let scanned: { at: number; holders: Map<string, number[]> } = { at: -1, holders: new Map() };

/** This user's processes by the sockets they held at some moment after `since`: scanning the files of all takes 8 ms. */
function holdersSince(since: number): Map<string, number[]> {
  if (scanned.at <= since) scanned = { at: performance.now(), holders: allHolders() };
  return scanned.holders;
}

function allHolders(): Map<string, number[]> {
  const holders = new Map<string, number[]>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (statSync(`/proc/${pid}`).uid !== process.getuid?.()) continue;
      for (const link of new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)))) {
        const inode = /^socket:\[(\d+)\]$/.exec(link ?? "")?.[1];
        if (inode !== undefined) holders.set(inode, [...(holders.get(inode) ?? []), Number(pid)]);
      }
    } catch {
      // ended, or not readable
    }
  }
  return holders;
}

function isOfToolServer(pid: number): boolean {
  return toolServers.has(pid) || (pid > 1 && isOfToolServer(parentOf(pid)));
}

/**
 * Not in a jail: a jailed process has our user, and is kept from our key. The mark left by each jail cannot be removed, with or without
 * bubblewrap: a process that a tool server left behind is no longer its descendant, and still has it.
 */
function isFree(pid: number): boolean {
  const space = linkOf(`/proc/${pid}/ns/pid`);
  return space !== null && space === linkOf("/proc/self/ns/pid") && (!isMarked(pid) || isMarked("self"));
}

const isMarked = (pid: number | "self"): boolean => !/^NoNewPrivs:\t0$/m.test(readProc(`/proc/${pid}/status`) ?? "");

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // closed meanwhile, or not readable
  }
}
