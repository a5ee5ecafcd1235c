/** Two reads, a computation, the policy, (an approval,) one write, as a LangGraph.js graph with its SQLite checkpointer. */
import { statSync } from "node:fs";
import { Annotation, Command, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const [what, file, argument, synchronous] = process.argv.slice(2);
const one = () => Annotation();
const State = Annotation.Root({ id: one(), invoice: one(), order: one(), pct: one(), verdict: one(), paid: one() });

const graph = (approval) => {
  const checkpointer = SqliteSaver.fromConnString(file);
  // Its driver leaves syncing to SQLite's checkpoints: a power cut takes runs back that were told as ended.
  if (synchronous !== undefined) checkpointer.db.pragma(`synchronous = ${synchronous}`);
  const built = new StateGraph(State)
    .addNode("read_invoice", () => ({ invoice: { amount: "51300.00", po: "PO-1" } }))
    .addNode("read_order", () => ({ order: { amount: "51200.00", vendor_status: "approved" } }))
    .addNode("compute", ({ invoice, order }) => ({ pct: ((Number(invoice.amount) - Number(order.amount)) / Number(order.amount)) * 100 }))
    .addNode("policy", ({ pct, order }) => ({
      verdict: order.vendor_status !== "approved" ? "block" : pct > 2 ? "require_approval" : "pass",
    }))
    .addNode("gate", ({ id, invoice }) => {
      if (approval) interrupt({ question: "Pay?", id, amount: invoice.amount });
      return {};
    })
    .addNode("pay", () => ({ paid: true }))
    .addEdge(START, "read_invoice")
    .addEdge("read_invoice", "read_order")
    .addEdge("read_order", "compute")
    .addEdge("compute", "policy")
    .addEdge("policy", "gate")
    .addEdge("gate", "pay")
    .addEdge("pay", END);
  return built.compile({ checkpointer });
};
const at = (id) => ({ configurable: { thread_id: id }, durability: "sync" });

if (what === "rate") {
  const runs = Number(argument);
  const app = graph(false);
  for (let n = 0; n < 100; n++) await app.invoke({ id: `warm-${n}` }, at(`warm-${n}`));
  const before = statSync(file).size + statSync(`${file}-wal`).size;
  const used = process.cpuUsage();
  const started = performance.now();
  for (let n = 0; n < runs; n++) await app.invoke({ id: String(n) }, at(String(n)));
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(used);
  const kept = statSync(file).size + statSync(`${file}-wal`).size - before;
  console.log(JSON.stringify({ rate: runs / seconds, cpu: (user + system) / 1000 / runs, kept: kept / runs / 1000 }));
} else if (what === "ask") {
  await graph(true).invoke({ id: argument }, at(argument));
} else {
  const end = await graph(true).invoke(new Command({ resume: true }), at(argument));
  if (end.paid !== true) process.exit(1);
}
