/*
name: Prime
description: What is known before a task is worked on - whether it may come in, what was said before in its session, figures computed from its words, and what the business has written down in data/knowledge.md
input: {task: {type: string, required: true}, process: {type: string, describe: "decides which figures are looked for; all without it"}}
*/
// Answers {goal, facts}: the task with all of it, for a model to read, and the figures. What may not come in ends the run here.
const { task, process = "general" } = input;
const { verdict, message } = privacy_scan({ text: task, direction: "inbound" });
if (verdict === "refuse") throw new Error(message ?? "The text may not come in.");
const facts = compute_facts_from_text({ text: task.slice(0, 20_000), process }).filter((one) => one.value !== null || one.readings.length > 0);
const { turns, earlier, runs } = ctx_session();
const said = turns.map(({ role, text }) => `${role}: ${text}`);
const had = runs.map((one) => `run ${one.run}: ${one.agent} ${JSON.stringify(one.input)} ended as ${one.outcome ?? one.status}`);
const knowledge = data_read("knowledge.md");
const parts = [
  ["", [task]],
  ["Said before in this session:", [...(earlier === "" ? [] : [earlier]), ...said, ...had]],
  ["Computed from the task's words:", facts.map((one) => JSON.stringify({ [one.fact]: one.value ?? one.readings }))],
  ["Written down by this business:", knowledge.found ? [knowledge.text.slice(0, 16_000)] : []],
] as const;
// As long as a model is shown.
const goal = parts.filter(([, lines]) => lines.length > 0).map(([title, lines]) => [title, ...lines].join("\n").trim()).join("\n\n").slice(0, 200_000);
({ goal, facts: facts.map(({ fact, value, readings, missing }) => ({ fact, value, readings, missing })) });
