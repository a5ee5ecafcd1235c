/** Search in a workspace for the writer: scripts, primitives, runs, entries, corrections, proposals, documentation, tools. A few short rows each. */
import { readFileSync, readdirSync } from "node:fs";
import { primitiveTypes } from "../kernel/derive.ts";
import type { Entry, Json } from "../kernel/ports.ts";
import { AGENTS, IMPORTERS, KNOWLEDGE, POLICIES, SCRIPTS } from "../workspace/layout.ts";
import { loadChart, monthFiles, readEntries } from "../workspace/books/months.ts";
import { treeOver } from "../workspace/git/tree.ts";
import { quarantined } from "./quarantine.ts";
import type { Files, Workshop } from "./workshop.ts";

export const PLACES = ["scripts", "primitives", "runs", "entries", "corrections", "proposals", "docs", "tools"] as const;
export type Place = (typeof PLACES)[number];

const MOST = 40;
/** Lines before the declarations in every file of typings. */
const BEFORE = primitiveTypes([]).length - 1;
const DOCS = new URL("../../docs/", import.meta.url);

/** Finds what contains all words of the query; without words, everything. */
export async function search(query: string, where: Place, files: Files, shop: Workshop): Promise<Json> {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 10);
  const fits = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const found = await FIND[where](fits, files, shop);
  return { found: found.slice(0, MOST), ...(found.length > MOST ? { left_out: found.length - MOST } : {}) };
}

type Find = (fits: (text: string) => boolean, files: Files, shop: Workshop) => Promise<Json[]>;

const FIND: Record<Place, Find> = {
  async scripts(fits, files, { base }) {
    const tree = treeOver(base, files);
    const paths = (await Promise.all([AGENTS, SCRIPTS, POLICIES, IMPORTERS, KNOWLEDGE].map((one) => tree.list(one)))).flat();
    const rows = await Promise.all(
      paths.map(async ({ path }) => {
        const lines = ((await tree.read(path)) ?? "").split("\n");
        return lines.flatMap((line, i) => (fits(`${path} ${line}`) ? [`${path}:${i + 1}: ${line.trim().slice(0, 160)}`] : []));
      }),
    );
    return rows.flat();
  },
  async primitives(fits, _, shop) {
    const all = (await shop.registry()).all().filter(({ name, summary }) => fits(`${name} ${summary}`));
    return all.map((one) => ({ name: one.name, types: primitiveTypes([one]).slice(BEFORE).trim() }));
  },
  async runs(fits, _, { bench }) {
    const runs = await bench.engine.list({ limit: 200 });
    return runs
      .filter((run) => fits(`${run.id} ${run.agent} ${run.status} ${run.outcome ?? ""} ${run.error?.code ?? ""}`))
      .map(({ id, agent, status, outcome, error, createdAt }) =>
        quarantined({ id, agent, status, outcome, at: new Date(createdAt).toISOString(), error: error?.message ?? null }),
      );
  },
  entries: (fits, _, { base }) => entriesIn(base, ({ description, counterparty }) => fits(`${description} ${counterparty ?? ""}`)),
  corrections: (fits, _, { base }) =>
    entriesIn(
      base,
      ({ status, tags, description }) => (status === "user-corrected" || tags["corrects"] !== undefined) && fits(description),
    ),
  async proposals(fits, _, shop) {
    return (await shop.proposals())
      .filter(({ title, reason, why }) => fits(`${title} ${reason} ${why ?? ""}`))
      .map(({ number, title, by, state, why, files }) =>
        quarantined({ number, title, by, state, why, files: files.map(({ path }) => path) }),
      );
  },
  async tools(fits, _, shop) {
    return (await shop.tools())
      .filter(({ tool, description }) => fits(`${tool} ${description}`))
      .map(({ tool, description, class: kind, input_schema }) => quarantined({ tool, class: kind, description, params: input_schema }));
  },
  async docs(fits) {
    return readdirSync(DOCS)
      .filter((name) => name.endsWith(".md") && name !== "DECISIONS.md")
      .flatMap((name) =>
        readFileSync(new URL(name, DOCS), "utf8")
          .split("\n")
          .flatMap((line, i) => (line.trim() !== "" && fits(line) ? [`docs/${name}:${i + 1}: ${line.trim().slice(0, 300)}`] : [])),
      );
  },
};

/** Newest first. */
async function entriesIn(base: Workshop["base"], fits: (entry: Entry) => boolean): Promise<Json[]> {
  const chart = await loadChart(base);
  const numbers = new Map(chart.accounts.map(({ name, id }) => [name, id]));
  const found: Json[] = [];
  for (const file of (await monthFiles(base)).reverse()) {
    for (const entry of [...(await readEntries(base, file))].reverse()) {
      if (!fits(entry)) continue;
      const { id, date, description, status, postings, tags } = entry;
      const legs = postings.map(({ account, amount, currency }) => `${numbers.get(account) ?? ""} ${account} ${amount} ${currency}`.trim());
      found.push(quarantined({ id, date, description, status, legs, evidence: tags["ev"] ?? "" }));
    }
    if (found.length > 10 * MOST) break;
  }
  return found;
}
