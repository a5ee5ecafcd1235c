/*
expect: {status: done, result: [1, [2, [3]]]}
*/
function nest(list: number[]): unknown[] {
  const [head, ...rest] = list;
  return rest.length === 0 ? [head] : [head, nest(rest)];
}
nest([1, 2, 3])
