/**
 * One run's view of its workspace: HEAD of the branch plus what the run has written. Primitives read and write through it; the engine
 * takes the changes of each step from it, restores them on a resume, and commits them as data on top of the HEAD of that moment.
 */
import { lstatSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { hash } from "node:crypto";
import { ClearedError } from "../kernel/errors.ts";
import { namesProgram } from "../kernel/registry.ts";
import { dayIn } from "../scripts/header.ts";
import type { Card, Change, Files, Git, PrimitivePorts, ProposalRequest, Row, Step, Tree, WorkspaceView } from "../kernel/ports.ts";
import { type Config, configKeys, configValue, parseConfig } from "./settings/config.ts";
import { legsOf } from "./books/invariants.ts";
import type { PoliciesOptions } from "./settings/policies.ts";
import { AUDIT, CONFIG, DATA, RECEIPTS } from "./layout.ts";
import { applyEdits } from "./books/ledger.ts";
import { createOverlay, type Overlay } from "./overlay.ts";
import { receiptFromYaml, receiptToYaml } from "./statements/receipt.ts";
import { tidyImports } from "./statements/tidy.ts";
import { createBooks } from "./books/view-books.ts";
import { createImports, type ImportsContext } from "./statements/view-imports.ts";
import { oddKind, plainFolder } from "./own-folders.ts";
import { redact } from "../rules/privacy/scan.ts";

type GivenPorts = Pick<WorkspaceView["ports"], "notices" | "tools" | "children" | "llm" | "session" | "agents">;

export interface ViewOptions extends GivenPorts, PoliciesOptions, Omit<ImportsContext, "overlay" | "closed"> {
  dir: string;
  git: Git;
  config: Config;
  /** The run's clock, ms. */
  now(): number;
  pending(): Card[];
  /** Proposals that this run makes: their author, and whether one is accepted; `own`: how many it has made since its last commit. */
  wishes: {
    by: string;
    admit(wish: ProposalRequest, own: number): Promise<{ accepted: boolean; proposal: string | null; reason: string }>;
  } & WorkspaceView["ports"]["wishes"];
  log(message: string): void;
}

export function createView(options: ViewOptions): WorkspaceView {
  const { dir, folder, git, config, run, base } = options;
  const { notices, tools, children, llm, session, agents, wishes } = options;
  const overlay = createOverlay(git);
  const today = (ms: number) => dayIn(config.timezone, ms);
  const closed = closedThrough(options);
  const closedAtHead = async (): Promise<string | undefined> => closed(await overlay.head());
  const imports = createImports({ ...options, overlay, closed: closedAtHead });
  // Only a commit can complete an import.
  let landed = false;
  let wished = 0;
  const books = createBooks({
    overlay,
    run,
    today: () => today(options.now()),
    rules: async () => ({ currency: config.currency, closed_through: await closedAtHead() }),
    rowsOf: (reference) => imports.rowsOf(reference),
  });

  // Imported at the first verdict, because it takes as long as the rest of the view.
  const loadPolicies = async () => (await import("./settings/policies.ts")).createPolicies(options);
  let policies: ReturnType<typeof loadPolicies> | null = null;

  const landing = async (head: Tree) => landingOn(overlay, head, await closed(head));

  return {
    today,
    ports: {
      books,
      imports,
      files: createDataFiles(dir, overlay),
      config: async (key) => configValue(config.raw, key),
      configKeys: async () => configKeys(config.raw),
      review: (item) => overlay.record({ op: "review", ...item, ...booked(overlay, item.entry) }),
      pending: async () => options.pending(),
      async propose(wish) {
        const answer = await wishes.admit(wish, wished);
        if (answer.accepted) {
          wished += 1;
          overlay.record({ op: "propose", ...wish, by: wishes.by, base: base.commit });
        }
        return answer;
      },
      log: (message) => options.log(message),
      emit: (event, payload) => overlay.record({ op: "emit", event, payload }),
      gitLog: (query) => git.log(query),
      policies: {
        evaluate: async (name, facts, own) => {
          const judges = await (policies ??= loadPolicies());
          const { declared, most, ...verdict } = await judges.evaluate(name, facts, own);
          overlay.record({ op: "verdict", verdict, declared, most, currency: config.currency });
          return verdict;
        },
      },
      ...{ notices, tools, children, llm, session, agents, wishes },
      audit: createAudit(overlay),
    },
    restore: (step) => {
      for (const change of step.changes) {
        if (change.op === "committed") landed = true;
        wished = change.op === "committed" ? 0 : change.op === "propose" ? wished + 1 : wished;
        if (change.op === "rows") imports.restore(change.name, change.hash, change.meta, rowsOfStep(step));
        else overlay.apply(change);
      }
    },
    takeChanges: (): Change[] => overlay.takeChanges(),
    dirty: () => overlay.dirty(),
    check: async () => {
      await landing(git.tree(await git.head()));
    },
    commit: async (message, trailers, guard) => git.commit({ message, trailers, build: async (head) => (await landing(head))(), guard }),
    committed: () => {
      landed = true;
      wished = 0;
      overlay.committed();
    },
    tidy: async () => {
      if (!landed) return;
      await tidyImports(folder, git.tree(await git.head()));
    },
  };
}

/** The legs of an entry that this run has added. */
function booked(overlay: Overlay, id: string | null): { booked?: string[] } {
  const entry = id === null ? undefined : overlay.mine.get(id);
  return entry === undefined ? {} : { booked: legsOf(entry) };
}

function rowsOfStep(step: Step): Row[] {
  const rows: unknown = JSON.parse(step.result ?? "[]");
  return Array.isArray(rows) ? (rows as Row[]) : [];
}

/** The end of the closed period at HEAD: a period that was closed while the run waited is closed for it too. */
function closedThrough({ config, base, cache }: ViewOptions): (head: Tree) => Promise<string | undefined> {
  let blob: string | null = null;
  let day = config.closed_through;
  return async (head) => {
    const now = await head.blob(CONFIG);
    blob ??= await base.blob(CONFIG);
    if (now !== null && now !== blob) {
      day = parseConfig((await head.read(CONFIG)) ?? "", cache).closed_through;
      blob = now;
    }
    return day;
  };
}

/** Checks a commit on `head`, and returns a function for the files it writes. @throws JOURNAL_*, ACCOUNT_UNKNOWN, WORKSPACE_CONFLICT */
async function landingOn(overlay: Overlay, head: Tree, closed_through: string | undefined): Promise<() => Promise<Files>> {
  const applied = await applyEdits(head, overlay.edits(), { closed_through });
  const own: Files = new Map();
  for (const [path, { text, base }] of overlay.files) {
    const now = await head.blob(path);
    if (now !== base && (await head.read(path)) !== text)
      throw new ClearedError(
        "WORKSPACE_CONFLICT",
        `${path} was changed since the run read it. Start the run again; it will read the new content.`,
        { at: { file: path } },
      );
    own.set(path, text);
  }
  for (const [id, gap] of applied.dropped) {
    // The books changed between the import and its commit, so its closing balance no longer ties: the receipt records the gap.
    const hash = overlay.mine.get(id)?.tags["key"]?.split(":").at(-1) ?? "";
    const path = [...own.keys()].find((one) => one.startsWith(RECEIPTS + hash)) ?? "";
    const text = own.get(path);
    if (typeof text === "string") own.set(path, receiptToYaml({ ...receiptFromYaml(text, path), gap }));
  }
  return async () => new Map([...(await applied.files()), ...own]);
}

const MAX_BYTES = 1024 * 1024;

export function createDataFiles(dir: string, overlay: Overlay): PrimitivePorts["files"] {
  return {
    read: async (path) => {
      assertPath(dir, path);
      const own = overlay.files.get(path);
      return own === undefined ? (await overlay.head()).read(path) : own.text;
    },
    write: async (path, text) => {
      assertPath(dir, path);
      if (namesProgram(basename(path)))
        throw new ClearedError(
          "FILE_INVALID",
          `"${path}" has the name of a program or of its settings, which agents do not write. Give it another ending, for example ".txt".`,
        );
      if (Buffer.byteLength(text) > MAX_BYTES)
        throw new ClearedError("FILE_TOO_LARGE", `${path} would have more than 1 MiB.`, { at: { file: path } });
      if (text.includes("\0") || !text.isWellFormed())
        throw new ClearedError("FILE_INVALID", `The text for ${path} has a NUL or half a character; data/ holds text.`, {
          at: { file: path },
        });
      const own = overlay.files.get(path);
      const base = own === undefined ? await (await overlay.head()).blob(path) : own.base;
      overlay.record({ op: "file", path, text, base });
    },
  };
}

/** @throws FILE_INVALID unless the path is below data/ and uses only characters that name the same file on every system */
function assertPath(dir: string, path: string): void {
  const parts = path.split("/");
  const plain =
    path.length <= 200 &&
    path.startsWith(DATA) &&
    parts.length > 1 &&
    parts.every((part) => /^[A-Za-z0-9_][A-Za-z0-9_. -]*$/.test(part) && !part.endsWith(".") && !part.endsWith(" "));
  if (!plain)
    throw new ClearedError(
      "FILE_INVALID",
      `"${path.slice(0, 100)}" is not a path of a data file. Write ${DATA}NAME with letters, digits, "_", "-" and "."; no part begins with a dot.`,
    );
  // Through a link in the work tree, the refresh after the commit would write outside of the folder.
  const found = lstatSync(join(plainFolder(dir, dirname(path)), basename(path)), { throwIfNoEntry: false });
  const odd = found === undefined ? null : oddKind(found);
  if (odd !== null) throw new ClearedError("FILE_INVALID", `${path} is ${odd} and is not used. Move it away.`, { at: { file: path } });
}

/**
 * The audit record: one file per line, `audit/YYYY-MM/DD-<id>.json`, canonical JSON.
 * Two runs or two clones never write the same file, so nothing is merged. Card numbers, keys and the like are redacted.
 * The id is a hash of content and key, so a repeat changes nothing. The time is not part of it, because a repeat comes later.
 */
export function createAudit(overlay: Overlay): PrimitivePorts["audit"] {
  return async ({ date, at, agent, run, refs, ...said }, key) => {
    const [subject, text] = [redact(said.subject), redact(said.text)];
    const id = hash("sha256", JSON.stringify([key, agent, subject, text, refs])).slice(0, 16);
    const file = `${AUDIT}${date.slice(0, 7)}/${date.slice(8)}-${id}.json`;
    const own = overlay.files.get(file);
    const base = own === undefined ? await (await overlay.head()).blob(file) : own.base;
    if (base === null && own === undefined)
      overlay.record({ op: "file", path: file, text: `${JSON.stringify({ id, date, at, agent, run, subject, text, refs })}\n`, base });
    return { id, file };
  };
}
