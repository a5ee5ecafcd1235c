/*
name: Complete
description: Completes each message at once
trigger: a2a
mutates: false
input: {task: {type: string, required: true}}
*/
({ summary: `done: ${input.task}` });
