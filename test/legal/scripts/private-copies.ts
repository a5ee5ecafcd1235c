/*
expect: {status: done, result: [[3, 1, 2], [1, 2, 3]]}
*/
const source = [3, 1, 2];
const answer: number[] = echo(source);
answer.sort();
[source, answer]
