/**
 * System call filters in the kernel's form (classic BPF, seccomp(2)): which calls a jailed process may make, by number and architecture.
 * bubblewrap loads them (jail.ts); they apply to everything the process starts, and cannot be removed.
 */

type Verdict = "allow" | "deny" | "absent" | "kill";

/** SECCOMP_RET_*: allow; an error, EPERM (1) or ENOSYS (38), after which libc tries the older call; kill the process. */
const RETURNS: Record<Verdict, number> = { allow: 0x7fff0000, deny: 0x00050001, absent: 0x00050026, kill: 0x80000000 };

/** `bits`: an argument (its low half) with one of them set gets `met`, any other `else`. `one`: it equals one of them. */
interface Judged {
  arg: number;
  bits?: number;
  one?: number[];
  met: Verdict;
  else: Verdict;
}

interface Rules {
  calls: [name: string, rule: Verdict | Judged][];
  /** The verdict for calls that are not named; and, if different, for calls newer than Linux 5.3. */
  rest: Verdict;
  newer?: Verdict;
}

/** AUDIT_ARCH_*, and the column of NUMBERS. */
const ARCHITECTURES = { x64: { audit: 0xc000003e, column: 0 }, arm64: { audit: 0xc00000b7, column: 1 } } as const;
export type Architecture = keyof typeof ARCHITECTURES;

// arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux 6.1; one number where both are the same.
const NUMBERS = new Map(
  `read 0 63|readv 19 65|write 1 64|writev 20 66|pread64 17 67|close 3 57|fcntl 72 25|ioctl 16 29|lseek 8 62|fstat 5 80|newfstatat 262 79
  statx 332 291|openat 257 56|open 2|access 21|faccessat 269 48|readlink 89|readlinkat 267 78|getcwd 79 17|poll 7|ppoll 271 73
  epoll_create1 291 20|epoll_ctl 233 21|epoll_wait 232|epoll_pwait 281 22|eventfd2 290 19|pipe2 293 59|mmap 9 222|mprotect 10 226
  munmap 11 215|mremap 25 216|madvise 28 233|brk 12 214|membarrier 324 283|pkey_alloc 330 289|pkey_mprotect 329 288|pkey_free 331 290
  futex 202 98|clone 56 220|set_robust_list 273 99|set_tid_address 218 96|rseq 334 293|sched_getaffinity 204 123|sched_getparam 143 121
  sched_getscheduler 145 120|sched_yield 24 124|getpid 39 172|getppid 110 173|gettid 186 178|exit 60 93|exit_group 231 94
  rt_sigaction 13 134|rt_sigprocmask 14 135|rt_sigreturn 15 139|sigaltstack 131 132|restart_syscall 219 128|clock_gettime 228 113
  clock_getres 229 114|clock_nanosleep 230 115|nanosleep 35 101|gettimeofday 96 169|getuid 102 174|geteuid 107 175|getgid 104 176
  getegid 108 177|getresuid 118 148|getresgid 120 150|capget 125 90|capset 126 91|setresuid 117 147|setresgid 119 149|setgroups 116 159
  uname 63 160|sysinfo 99 179|prlimit64 302 261|getrusage 98 165|getrandom 318 278|prctl 157 167|arch_prctl 158|execve 59 221|wait4 61 260
  ptrace 101 117|process_vm_readv 310 270|process_vm_writev 311 271|kcmp 312 272|pidfd_getfd 438 438|bpf 321 280|perf_event_open 298 241
  userfaultfd 323 282|io_uring_setup 425 425|io_uring_enter 426 426|io_uring_register 427 427|keyctl 250 219|add_key 248 217
  request_key 249 218|mount 165 40|umount2 166 39|pivot_root 155 41|chroot 161 51|unshare 272 97|setns 308 268|open_tree 428 428
  move_mount 429 429|fsopen 430 430|fsconfig 431 431|fsmount 432 432|fspick 433 433|mount_setattr 442 442|init_module 175 105
  finit_module 313 273|delete_module 176 106|kexec_load 246 104|kexec_file_load 320 294|reboot 169 142|swapon 167 224|swapoff 168 225
  acct 163 89|quotactl 179 60|open_by_handle_at 304 265|personality 135 92|syslog 103 116|clone3 435 435`
    .split(/\||\n/)
    .map((line) => line.trim().split(" "))
    .map(([name = "", ...numbers]) => [name, numbers.map(Number)] as const),
);

const named = (names: string, rule: Verdict): Rules["calls"] => names.split(/\s+/).map((name) => [name, rule]);
const CLONE_THREAD = 0x00010000;
// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: in its own namespace a process is root again.
const CLONE_NEW = 0x7e020000;
const [TCGETS, FIONBIO, FIOCLEX] = [0x5401, 0x5421, 0x5451];

/**
 * A child that runs or parses scripts, from the start of Node (measured with strace over the hostile and the legal scripts, with and
 * without JIT): files visible in its folder, memory, threads, waiting, and exit. No socket, no signals, no new process.
 * Everything else fails with EPERM, and calls newer than this list are absent, so that libc falls back to older ones.
 */
export const CHILD: Rules = {
  calls: [
    // Most frequent first.
    ...named("futex read write madvise mprotect munmap mmap mremap brk membarrier close openat statx fstat newfstatat pread64", "allow"),
    // Finding and loading its files; pipes and waiting for them.
    ...named("open access faccessat readlink readlinkat getcwd lseek fcntl readv writev poll ppoll eventfd2 pipe2", "allow"),
    ...named("epoll_create1 epoll_ctl epoll_wait epoll_pwait", "allow"),
    ["ioctl", { arg: 1, one: [TCGETS, FIONBIO, FIOCLEX], met: "allow", else: "deny" }],
    // Threads, but no processes.
    ["clone", { arg: 0, bits: CLONE_THREAD, met: "allow", else: "deny" }],
    ...named(
      "set_robust_list set_tid_address rseq sched_getaffinity sched_getparam sched_getscheduler sched_yield exit exit_group",
      "allow",
    ),
    // V8 guards its code space with protection keys where the processor has them.
    ...named("pkey_alloc pkey_mprotect pkey_free", "allow"),
    // Handlers for its own faults; sending a signal, even to itself, needs a call that is not listed.
    ...named("rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall", "allow"),
    ...named("clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday getrandom", "allow"),
    ...named("getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid capget uname sysinfo getrusage prlimit64", "allow"),
    // prctl names threads. It can remove rights, but not restore any.
    ...named("prctl arch_prctl", "allow"),
    // bubblewrap starts Node after the filter is loaded, as root through setpriv, and waits for it; later these calls change nothing.
    ...named("execve setresuid setresgid setgroups capset wait4", "allow"),
  ],
  rest: "deny",
  newer: "absent",
};

/**
 * A tool server not marked as trusted: any program, so all calls except those that reach into other processes, the
 * kernel or other namespaces. clone3 hides its flags from a filter; if it is absent, libc uses clone.
 */
export const SERVER: Rules = {
  calls: [
    ["clone", { arg: 0, bits: CLONE_NEW, met: "deny", else: "allow" }],
    ["clone3", "absent"],
    ...named(
      "ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd bpf perf_event_open userfaultfd keyctl add_key request_key",
      "deny",
    ),
    ...named("io_uring_setup io_uring_enter io_uring_register open_by_handle_at personality syslog", "deny"),
    ...named("mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr", "deny"),
    ...named("init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct quotactl", "deny"),
  ],
  rest: "allow",
};

// linux/bpf_common.h: load a word of struct seccomp_data; jump when equal, at least, or when bits are set; return.
const [LOAD, JEQ, JGE, JSET, RETURN] = [0x20, 0x15, 0x35, 0x45, 0x06];
const [AT_NUMBER, AT_ARCHITECTURE, AT_ARGUMENTS] = [0, 4, 16];
/** First number of the x32 ABI, whose calls have their own numbers. */
const X32 = 0x40000000;
/** The first call added after Linux 5.3. */
const NEWER = 435;

/** The program, 8 bytes an instruction; null for an architecture whose numbers are unknown here. */
export function filterFor(rules: Rules, architecture: string = process.arch): Buffer | null {
  if (!Object.hasOwn(ARCHITECTURES, architecture)) return null;
  const { audit, column } = ARCHITECTURES[architecture as Architecture];
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [];
  const answer = (verdict: Verdict) => program.push([RETURN, 0, 0, RETURNS[verdict]]);
  // On another architecture the numbers mean other calls, so nothing can be decided.
  program.push([LOAD, 0, 0, AT_ARCHITECTURE], [JEQ, 1, 0, audit]);
  answer("kill");
  program.push([LOAD, 0, 0, AT_NUMBER], [JGE, 0, 1, X32]);
  answer("deny");
  for (const [name, rule] of rules.calls) {
    const number = NUMBERS.get(name)?.[column];
    if (number === undefined) continue;
    if (typeof rule === "string") {
      program.push([JEQ, 0, 1, number]);
      answer(rule);
      continue;
    }
    const tests = rule.bits === undefined ? (rule.one ?? []).map((one) => [JEQ, one] as const) : [[JSET, rule.bits] as const];
    program.push([JEQ, 0, 1 + 2 * tests.length + 1, number], [LOAD, 0, 0, AT_ARGUMENTS + 8 * rule.arg]);
    for (const [code, value] of tests) {
      program.push([code, 0, 1, value]);
      answer(rule.met);
    }
    answer(rule.else);
  }
  program.push([JGE, 0, 1, NEWER]);
  answer(rules.newer ?? rules.rest);
  answer(rules.rest);
  const bytes = Buffer.alloc(8 * program.length);
  for (const [i, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * i);
    bytes.writeUInt8(ifTrue, 8 * i + 2);
    bytes.writeUInt8(ifFalse, 8 * i + 3);
    bytes.writeUInt32LE(value, 8 * i + 4);
  }
  return bytes;
}
