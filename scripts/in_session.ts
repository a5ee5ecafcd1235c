/*
name: In Session
description: A task with what was said before it in the same session, for a model to read
input: {task: {type: string, required: true}}
*/
const { turns, earlier, runs } = ctx_session();
const said = turns.map(({ role, text }) => `${role}: ${text}`);
const had = runs.map((one) => `run ${one.run}: ${one.agent} ${JSON.stringify(one.input)} ended as ${one.outcome ?? one.status}`);
const before = [...(earlier === "" ? [] : [earlier]), ...said, ...had].join("\n");
({ goal: before === "" ? input.task : `${input.task}\n\nSaid before in this session:\n${before}` });
