/**
 * A bank's CSV to committed and verified books: the starter ingest on 10,000 rows beside hledger only reading the same CSV through rules
 * (both whole processes, in turns), the ported seed script (one journal_add_double a row) once, and 50,000 rows within the default limits.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { CLEARED, hasTool, median, statement } from "./measure.ts";

const ROUNDS = 5;
const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));

// The ten rules of the starter's agents/ingest.ts, with the payee and the tags that its entries get.
const CLASSIFY: [text: string, account: string, payee: string, confidence: string][] = [
  ["GITHUB", "Expenses:Software", "GitHub", "0.98"],
  ["AWS", "Expenses:Software", "Amazon Web Services", "0.96"],
  ["DROPBOX", "Expenses:Software", "Dropbox", "0.97"],
  ["GOOGLE WORKSPACE", "Expenses:Software", "Google", "0.97"],
  ["ZOOM.US", "Expenses:Software", "Zoom", "0.97"],
  ["STAPLES", "Expenses:Office Supplies", "Staples", "0.96"],
  ["COMCAST", "Expenses:Utilities", "Comcast", "0.96"],
  ["SERVICE FEE", "Expenses:Bank Fees", "%description", "0.96"],
  ["UBER", "Expenses:Travel", "Uber", "0.9"],
  ["AMZN", "Expenses:Office Supplies", "Amazon", "0.7"],
];
const RULES = `skip 1
fields details,date,description,amount,type,balance,check
date-format %m/%d/%Y
currency USD
account1 Assets:Bank:Checking
account2 Expenses:Office Supplies
comment status:pending-review, evidence:no confident match
if %amount ^[^-]
  account2 Income:Services
${CLASSIFY.map(
  ([text, account, payee, confidence]) => `if %description ${text}
  account2 ${account}
  description ${payee} | %description
  comment status:${Number(confidence) >= 0.95 ? "auto-confirmed" : "pending-review"}, confidence:${confidence}, evidence:rule ${text}
`,
).join("")}`;

function cleared(dir: string, ...args: string[]): number {
  const started = performance.now();
  const done = spawnSync(CLEARED[0] ?? "", [...CLEARED.slice(1), ...args, "--dir", dir], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`cleared ${args.join(" ")} ended with ${done.status}: ${done.stderr}`);
  return performance.now() - started;
}

async function workspace(name: string): Promise<string> {
  const dir = join(folder, name);
  await initWorkspace(dir, { name: "Bench", from: root, person: "Bench" });
  return dir;
}

try {
  const csv = join(folder, "statement.csv");
  writeFileSync(csv, statement(10_000));
  writeFileSync(join(folder, "statement.rules"), RULES);
  const ours: number[] = [];
  const verified: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < ROUNDS + 1; round++) {
    const dir = await workspace(`w${round}`);
    const importing = cleared(dir, "import", csv);
    const verifying = cleared(dir, "verify");
    const started = performance.now();
    const read = hasTool("hledger")
      ? spawnSync("hledger", ["-f", csv, "--rules-file", join(folder, "statement.rules"), "balance", "-N"], { encoding: "utf8" })
      : null;
    const reading = performance.now() - started;
    if (read !== null && read.status !== 0) throw new Error(`hledger: ${read.stderr}`);
    if (round === 0) continue; // caches of the file system and of compiled code
    ours.push(importing + verifying);
    verified.push(verifying);
    if (read !== null) theirs.push(reading);
  }
  console.log(
    `10,000 rows, imported, committed and verified: ${(median(ours) / 1000).toFixed(2)} s, of it verify ${(median(verified) / 1000).toFixed(2)} s (target 3 s)`,
  );
  if (theirs.length > 0) {
    console.log(
      `hledger only reading that CSV: ${(median(theirs) / 1000).toFixed(2)} s; ratio hledger / cleared ${(median(theirs) / median(ours)).toFixed(2)} (target 2)`,
    );
  } else console.log("hledger is not installed: no ratio");

  const seed = await workspace("seed");
  cpSync(join(root, "test", "fixtures", "seed-ingest.ts"), join(seed, "agents", "ingest.ts"));
  spawnSync("git", ["-C", seed, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qam", "agent: the seed's ingest"]);
  // It watches nothing, so it is run by name.
  cpSync(csv, join(seed, "import", "statement.csv"));
  console.log(`the ported seed script, one call a row: ${(cleared(seed, "run", "ingest") / 1000).toFixed(2)} s (no target)`);

  const large = await workspace("large");
  writeFileSync(csv, statement(50_000));
  console.log(
    `50,000 rows within the default limits: ${(cleared(large, "import", csv) / 1000).toFixed(2)} s, verify ${(cleared(large, "verify") / 1000).toFixed(2)} s`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
