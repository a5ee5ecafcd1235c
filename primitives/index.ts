/** The list of built-in primitives, in the order of docs/PRIMITIVES.md. A new domain is one import and one line here. */
import type { Primitive } from "../runtime/kernel/primitive.ts";
import { a2a_call } from "./a2a.ts";
import { accounts_by_type, accounts_exists, accounts_get, accounts_list } from "./accounts.ts";
import { agent_call } from "./agent.ts";
import { approval_form, approval_wait } from "./approval.ts";
import { audit_add } from "./audit.ts";
import { compute_find } from "./compute/find.ts";
import { computePrimitives } from "./compute/index.ts";
import { compute_facts_from_text } from "./compute/precompute.ts";
import { config_get } from "./config.ts";
import { ctx_dry_run, ctx_emit, ctx_log, ctx_now, ctx_session, ctx_today } from "./ctx.ts";
import { data_dedupe, data_first, data_group_by, data_read, data_sum, data_write } from "./data.ts";
import { fsm_enter } from "./fsm.ts";
import {
  document_approval_brief,
  document_build,
  document_check,
  document_format,
  document_post_mortem,
  document_sprint_plan,
} from "./document.ts";
import { git_commit, git_log } from "./git.ts";
import { importer_deduplicate, importer_mark_processed, importer_parse, importer_scan } from "./importer.ts";
import {
  journal_add,
  journal_add_double,
  journal_add_many,
  journal_balance,
  journal_query,
  journal_update_status,
  journal_void,
} from "./journal.ts";
import { llm_next, llm_ready } from "./llm/next.ts";
import { llm_classify, llm_extract, llm_summarize } from "./llm/text.ts";
import { mcp_call, mcp_fetch_all, mcp_find, mcp_list, mcp_record, mcp_try } from "./mcp.ts";
import { notify_send } from "./notify.ts";
import { payroll_bank_file } from "./payroll.ts";
import { policy_evaluate } from "./policy.ts";
import { privacy_scan } from "./privacy.ts";
import { propose_change, propose_process, propose_rules } from "./propose.ts";
import { queue_add_many, queue_add_review, queue_pending } from "./queue.ts";
import { schedule_run } from "./schedule.ts";
import { script_run } from "./script.ts";

export const primitives: readonly Primitive[] = [
  ...[journal_add_double, journal_add, journal_add_many, journal_query, journal_void, journal_update_status, journal_balance],
  ...[accounts_list, accounts_get, accounts_exists, accounts_by_type],
  ...[importer_scan, importer_parse, importer_mark_processed, importer_deduplicate],
  ...[git_commit, git_log],
  ...[queue_add_review, queue_add_many, queue_pending],
  ...[propose_change, propose_process, propose_rules],
  ...[config_get],
  ...[ctx_log, ctx_emit, ctx_dry_run, ctx_today, ctx_now, ctx_session],
  ...[script_run],
  ...[data_read, data_write, data_group_by, data_sum, data_dedupe, data_first],
  ...[mcp_call, mcp_try, mcp_list, mcp_find, mcp_fetch_all, mcp_record],
  ...[llm_classify, llm_extract, llm_summarize, llm_next, llm_ready],
  ...[policy_evaluate],
  ...[approval_wait, approval_form],
  ...[agent_call, a2a_call],
  ...[fsm_enter],
  ...[document_build, document_format, document_approval_brief, document_post_mortem, document_sprint_plan, document_check],
  ...[privacy_scan],
  ...[notify_send, schedule_run, audit_add],
  ...[compute_find, compute_facts_from_text],
  ...[payroll_bank_file],
  ...computePrimitives,
];
