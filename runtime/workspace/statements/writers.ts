/**
 * Which processes have a file open for writing, as far as this user may see. Linux tells in /proc; elsewhere nobody is seen, and only the
 * time a file has stood says that it is whole.
 */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { namesIn } from "../own-folders.ts";

/** A file by its place on disk, whatever it is called: a hard link is the same file. */
export interface Inode {
  dev: number;
  ino: number;
}

export const inodeOf = ({ dev, ino }: Inode): string => `${dev}:${ino}`;

/** Who may still write to one of the files, by `inodeOf`: `rsync (process 123)`. */
export function writersOf(files: readonly Inode[]): Map<string, string> {
  const wanted = new Set(files.map(inodeOf));
  const found = new Map<string, string>();
  if (wanted.size === 0 || process.platform !== "linux") return found;
  for (const pid of namesIn("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    for (const fd of namesIn(`/proc/${pid}/fd`)) {
      const inode = writtenBy(pid, fd);
      if (inode !== null && wanted.has(inode) && !found.has(inode)) found.set(inode, `${nameOf(pid)} (process ${pid})`);
    }
  }
  return found;
}

/** The regular file that a descriptor writes to. */
function writtenBy(pid: string, fd: string): string | null {
  try {
    // Sockets, pipes and devices are most of all descriptors and are known by their names; /dev/shm holds files.
    if (!/^\/(?!dev\/(?!shm\/)|proc\/|sys\/)/.test(readlinkSync(`/proc/${pid}/fd/${fd}`))) return null;
    // The last octal digit of the flags: 1 is O_WRONLY, 2 O_RDWR (proc_pid_fdinfo(5)).
    if (!/^flags:\s*\d*[1256]$/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1"))) return null;
    return inodeOf(statSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return null; // closed, or ended, since it was listed
  }
}

function nameOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "a program"; // it has ended since
  }
}
