/**
 * Servers that flood, fall silent in the middle of a line or leave others behind hold no command: every call ends in its time and every
 * connection closes, with the jail and without it.
 */
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { hostile, run } from "./pool.ts";

const TIMEOUT_MS = 3000;
const CLASSES = ", tools: {get_invoice: {class: read}, pay_invoice: {class: mutate}}";

/** Processes that were started with these words. */
const running = (word: string): number =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word);
    } catch {
      return false;
    }
  }).length;

const MODES: [mode: string, code: string, says: RegExp, args?: string[]][] = [
  ["unended", "TOOL_TIMEOUT", /did not answer within 3 s/],
  ["half", "TOOL_DOWN", /ended before it answered/],
  ["half", "TOOL_DOWN", /ended before it answered/, ["detached"]],
  ["flood-line", "TOOL_ANSWER", /longer than 8 MiB/],
  ["flood-lines", "TOOL_ANSWER", /prints endlessly and does not answer/],
  ["flood-stderr", "TOOL_ANSWER", /prints endlessly and does not answer/],
  ["flood-messages", "TOOL_ANSWER", /prints endlessly and does not answer/],
  ["flood-progress", "TOOL_ANSWER", /prints endlessly and does not answer/],
  ["deaf", "TOOL_ANSWER", /does not read its input|prints endlessly/],
  ["flood-at-start", "TOOL_DOWN", /longer than 8 MiB/],
];

// Around these the jail could change something: who dies with whom, and who holds the pipes.
const JAILED = ["unended", "half", "flood-line"];

for (const trusted of [true, false]) {
  describe(trusted ? "a server that is trusted" : "a server that is not", () => {
    for (const [mode, code, says, args = []] of MODES.filter(([mode]) => trusted || JAILED.includes(mode))) {
      test(`${[mode, ...args].join(" ")} ends the call with ${code}, and the command`, async () => {
        const bad = hostile(mode, CLASSES, TIMEOUT_MS, { trusted, args });
        const { call, close } = run(bad.trust, bad);
        // A slow machine floods slowly: then the time is up first.
        const slow = mode.startsWith("flood") || mode === "deaf" ? ["TOOL_TIMEOUT"] : [];
        const read = await call("bad/get_invoice", {}).catch((error: Error & { code: string }) => error);
        expect([code, ...slow]).toContain((read as { code: string }).code);
        if ((read as { code: string }).code === code) expect((read as Error).message).toMatch(says);
        const write = await call("bad/pay_invoice", {}).catch((error: Error & { code: string }) => error);
        expect(mode === "flood-at-start" ? "TOOL_DOWN" : "TOOL_LOST").toBe((write as { code: string }).code);
        await close();
        for (let i = 0; i < 50 && running(bad.dir) > 0; i++) await new Promise((resolve) => setTimeout(resolve, 100));
        expect(running(bad.dir)).toBe(0);
      });
    }

    test("a server that answers, dies and leaves a process behind is started again for the next call", async () => {
      const bad = hostile("between", CLASSES, TIMEOUT_MS, { trusted });
      const { call, close } = run(bad.trust, bad);
      expect((await call("bad/get_invoice", {})).result).toBe("done");
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect((await call("bad/pay_invoice", {})).result).toBe("done");
      await close();
      expect(bad.reached()).toHaveLength(2);
    });
  });
}
