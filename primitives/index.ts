/** The built-in primitives, in the order of docs/PRIMITIVES.md: a new domain is one import and its name in FILES. */
import type { Primitive } from "../runtime/kernel/primitive.ts";
import * as a2a from "./a2a.ts";
import * as accounts from "./accounts.ts";
import * as agent from "./agent.ts";
import * as approval from "./approval.ts";
import * as audit from "./audit.ts";
import { compute_find } from "./compute/find.ts";
import { computePrimitives, primitivesIn } from "./compute/index.ts";
import { compute_facts_from_text } from "./compute/precompute.ts";
import * as config from "./config.ts";
import * as context from "./ctx.ts";
import * as data from "./data.ts";
import * as document from "./document.ts";
import * as fsm from "./fsm.ts";
import * as git from "./git.ts";
import * as importer from "./importer.ts";
import * as journal from "./journal.ts";
import * as next from "./llm/next.ts";
import * as judgement from "./llm/text.ts";
import * as mcp from "./mcp.ts";
import * as notify from "./notify.ts";
import * as payroll from "./payroll.ts";
import * as policy from "./policy.ts";
import * as privacy from "./privacy.ts";
import * as propose from "./propose.ts";
import * as queue from "./queue.ts";
import * as schedule from "./schedule.ts";
import * as script from "./script.ts";

const FILES = [
  ...[journal, accounts, importer, git, queue, propose, config, context, script, data, mcp, judgement, next, policy, approval],
  ...[agent, a2a, fsm, document, privacy, notify, schedule, audit, payroll],
];

export const primitives: readonly Primitive[] = [...primitivesIn(FILES), ...[compute_find, compute_facts_from_text], ...computePrimitives];
