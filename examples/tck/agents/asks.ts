/*
name: Asks
description: Asks for one word, and completes with it
trigger: a2a
mutates: false
input: {word: {type: string, required: true}}
*/
({ summary: `done: ${input.word}` });
