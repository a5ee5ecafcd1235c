/*
name: Slow
description: Completes after a while
trigger: a2a
mutates: false
input: {task: {type: string, required: true}}
*/
let n = 0;
for (let i = 0; i < 10_000_000; i++) n += i;
({ summary: `done: ${input.task}, ${n}` });
