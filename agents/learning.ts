/*
name: Learning
description: Offer a rule for each payee whose entries people have moved to another account
trigger: schedule
schedule: 30 3 * * *
uses: [propose, ctx]
*/
// Each rule is a card: approved, it moves what is alike and proposes the rule, with its evidence, for an approval of its own.
const { offered, unclear } = propose_rules();
if (offered.length > 0) ctx_log(`Offers ${offered.length === 1 ? "a rule" : `${offered.length} rules`}: cleared queue`);
if (unclear.length > 0) ctx_log(`No words tell ${unclear.length === 1 ? "this correction" : "these corrections"} from other entries; a model might, by cleared rule ENTRY: ${unclear.slice(0, 5).join(", ")}`);
({ offered, unclear });
