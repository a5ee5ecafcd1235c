/**
 * What an agent or script may do that it might not before, compared with all the scripts it runs: its header, its text, and its calls, which
 * act at more places, ask at fewer, or are decided by something else. Whatever cannot be ordered is told as "compare by hand".
 */
import type { Around, Program, Role, Site } from "./program.ts";
import type { Widening, WideningKind } from "./types.ts";
import { headerWidening } from "./widening-header.ts";
import { type Say, textWidening } from "./widening-text.ts";

/** `was` null: the program is new, and widens by everything it has. @param autoConfirm the confidence from which on nobody looks */
export async function programWidening(was: Program | null, now: Program, around: Around, autoConfirm: number): Promise<Widening[]> {
  const found: Widening[] = [];
  // By the name it had: a new one could say anything.
  const title = (was ?? now).title;
  const say: Say = (kind, text, file, line) =>
    void found.push({ kind, text: `${title}: ${text}`, at: { file, ...(line === undefined ? {} : { line }) } });
  if (now.header !== null)
    await headerWidening(was?.header ?? null, now.header, around, (kind, text, key) => say(kind, text, now.file, lineOf(now, key)));
  if (was !== null) calls(was, now, say);
  textWidening(was, now, around, autoConfirm, say);
  return found;
}

/** The line of the header where a key stands. */
function lineOf({ source }: Program, key: string): number | undefined {
  const index = source.split("\n").findIndex((line) => new RegExp(`^[\\s*]*${key}\\s*:`).test(line));
  return index < 0 ? undefined : index + 1;
}

/** more: told when it happens at more places, else when at fewer. decides: told when something else decides whether it happens. */
const ROLES: Record<Role, { kind: WideningKind; more: boolean; decides: boolean; says: string }> = {
  acts: { kind: "tool", more: true, decides: true, says: "acts outside or tells somebody" },
  writes: { kind: "tool", more: true, decides: false, says: "writes" },
  asks: { kind: "gate", more: false, decides: true, says: "asks a person" },
  reviews: { kind: "review", more: false, decides: true, says: "puts something before a person" },
  judges: { kind: "policy", more: false, decides: true, says: "has the policy judge" },
};

function calls(was: Program, now: Program, say: Say): void {
  for (const role of Object.keys(ROLES) as Role[]) {
    const { kind, more, decides, says } = ROLES[role];
    const [before, after] = [was, now].map(({ sites }) => sites.filter((one) => one.role === role)) as [Site[], Site[]];
    const [old, fresh] = [before, after].map((sites) => Map.groupBy(sites, ({ what }) => what)) as [
      Map<string, Site[]>,
      Map<string, Site[]>,
    ];
    for (const what of new Set([...old.keys(), ...fresh.keys()])) {
      const [known, made] = [old.get(what) ?? [], fresh.get(what) ?? []];
      const other = made.find(({ means }) => !known.some((one) => one.means === means));
      const { file, line } = other ?? made.at(-1) ?? { file: now.file };
      if (more && made.length > known.length)
        say(kind, `${says} at ${places(made.length)}${known.length === 0 ? "" : ` instead of ${known.length}`} (${what})`, file, line);
      else if (!more && made.length < known.length)
        say(
          kind,
          after.length < before.length
            ? `${says} at ${places(made.length)} instead of ${known.length} (${what})`
            : `${says} elsewhere than before (${what}): compare by hand`,
          file,
          line,
        );
      else if (decides && other !== undefined && known.length > 0)
        say(
          kind,
          `when it ${says} is decided otherwise (${what}${other.shown === "" ? "" : `: ${other.shown}`}): compare by hand`,
          file,
          line,
        );
    }
  }
  const emitted = (program: Program) =>
    program.calls.filter(({ access }) => access === "notify").flatMap((call) => (call.effect === "control" ? [call] : []));
  const event = ({ given }: Program["calls"][number]): string => given["event"] ?? given[""] ?? "an event it computes";
  const loud = emitted(now).find((one) => !emitted(was).some((other) => event(other) === event(one)));
  if (loud !== undefined) say("trigger", `tells ${event(loud)}, which may start other agents`, loud.at.file, loud.at.line);
}

const places = (count: number): string => (count === 0 ? "no place" : `${count} ${count === 1 ? "place" : "places"}`);
