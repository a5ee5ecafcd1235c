/*
name: Reflect
description: An answer before it is given - what a model said stays only where each of its figures stems from the task or from a call, and what the process needs must be there
input:
  answer: {type: object, required: true}
  unsupported: {type: list, default: [], describe: "figures, days and ids of the answer's result that nothing gave, as llm_next names them"}
*/
const { answer, unsupported } = input;
const action_taken = `${answer.action_taken}; its answer is left out: nothing that was read has ${unsupported.slice(0, 10).join(", ")}`;
const summary = String(answer.summary).replace(String(answer.action_taken), () => action_taken);
const told = unsupported.length === 0 ? answer : { ...answer, decision_or_status: "not answered", action_taken, result: null, summary };
document_check({ answer: told });
told;
