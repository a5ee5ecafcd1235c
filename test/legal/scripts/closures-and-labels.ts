/*
expect: {status: done, result: [0, 1, 10, 11]}
*/
const out: number[] = [];
outer: for (let i = 0; i < 3; i++) {
  for (let j = 0; j < 3; j++) {
    if (i === 2) break outer;
    if (j === 2) continue outer;
    out.push(i * 10 + j);
  }
}
out
