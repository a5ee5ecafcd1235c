/*
name: Daily Ingest
description: Import new bank transactions, classify inline, route by confidence
trigger: [schedule, file_watch]
schedule: 0 6 * * *
watch: import/
uses: [importer, journal, queue, git, config, ctx]
*/
// What the bank's text says about a payment. First match wins; learning agents rewrite this list.
const rules = [
  { text: "GITHUB", account: 5020, vendor: "GitHub", confidence: 0.98 },
  { text: "AWS", account: 5020, vendor: "Amazon Web Services", confidence: 0.96 },
  { text: "DROPBOX", account: 5020, vendor: "Dropbox", confidence: 0.97 },
  { text: "GOOGLE WORKSPACE", account: 5020, vendor: "Google", confidence: 0.97 },
  { text: "ZOOM.US", account: 5020, vendor: "Zoom", confidence: 0.97 },
  { text: "STAPLES", account: 5030, vendor: "Staples", confidence: 0.96 },
  { text: "COMCAST", account: 5070, vendor: "Comcast", confidence: 0.96 },
  { text: "SERVICE FEE", account: 5090, vendor: "", confidence: 0.96 },
  { text: "UBER", account: 5040, vendor: "Uber", confidence: 0.9 },
  { text: "AMZN", account: 5030, vendor: "Amazon", confidence: 0.7 },
];

/** The first rule whose text the description has. */
function ruleFor(description: string) {
  const text = description.toUpperCase();
  for (let i = 0; i < rules.length; i++) if (text.includes(rules[i].text)) return rules[i];
  return undefined;
}

const files = importer_scan();
if (files.length === 0) {
  ctx_log("No new files to import");
  ({ imported: 0, confirmed: 0, review: 0 });
} else {
  const threshold = config_get("thresholds.auto_confirm");
  let imported = 0;
  let review = 0;

  for (const file of files) {
    const rows = importer_parse(file.name);
    ctx_log(`Parsed ${rows.length} transactions from ${file.name}`);

    for (let start = 0; start < rows.length; start += 1000) {
      const entries = [];
      const open = [];
      for (const row of rows.slice(start, start + 1000)) {
        const out = row.amount.startsWith("-");
        const rule = out ? ruleFor(row.description) : undefined;
        const confidence = rule?.confidence ?? 0;
        const sure = confidence >= threshold;
        // Money out goes from the bank account to the expense; money in is income until a person says otherwise.
        const other = out ? (rule?.account ?? 5030) : 4010;
        entries.push({
          date: row.date,
          description: row.description,
          debit_account: out ? other : row.account,
          credit_account: out ? row.account : other,
          amount: out ? row.amount.slice(1) : row.amount,
          counterparty: rule?.vendor ?? row.counterparty,
          reference: row.reference,
          confidence,
          status: sure ? "auto-confirmed" : "pending-review",
          evidence: rule === undefined ? "no confident match" : `rule: ${rule.text}`,
        });
        if (!sure) open.push({ entry_id: row.id, description: row.description, confidence });
      }
      journal_add_many({ entries });
      if (open.length > 0) queue_add_many({ items: open });
      imported += entries.length;
      review += open.length;
    }

    importer_mark_processed(file.name);
  }

  git_commit(`import: ${imported} transactions from ${files.length === 1 ? "1 file" : `${files.length} files`}`);
  ctx_log(`Done: ${imported - review} auto-confirmed, ${review} for review`);
  ({ imported, confirmed: imported - review, review });
}
