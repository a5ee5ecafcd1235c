/** What a workspace has and this process has done, counted and never estimated: `/metrics` for Prometheus, `/rl/status` as the seeds name it. */
import { countRuns } from "../engine/store/run-queries.ts";
import type { Host } from "./host.ts";

export type Figures = ReturnType<typeof figuresOf>;

export function figuresOf({ database, cards, progress }: Pick<Host, "database" | "cards" | "progress">) {
  const runs = countRuns(database);
  const sum = (counts: (one: (typeof runs)[number]) => boolean) => runs.filter(counts).reduce((all, { n }) => all + n, 0);
  const successes = sum(({ outcome }) => outcome === "completed");
  const failures = sum(({ status }) => status === "failed" || status === "diverged");
  const total = sum(({ status }) => status !== "queued" && status !== "running" && status !== "waiting");
  const metrics = [
    "# HELP cleared_runs Runs by where they stand.\n# TYPE cleared_runs gauge",
    ...runs.map(({ status, outcome, n }) => `cleared_runs{status="${status}",outcome="${outcome ?? ""}"} ${n}`),
    `# HELP cleared_cards_open Cards that wait for a person.\n# TYPE cleared_cards_open gauge\ncleared_cards_open ${cards.waiting()}`,
    `# HELP cleared_calls_total Calls of scripts, by this process.\n# TYPE cleared_calls_total counter\ncleared_calls_total ${progress.calls}`,
  ];
  return { metrics: `${metrics.join("\n")}\n`, status: { status: "ok", total_cases: total, case_log: { total, successes, failures } } };
}
