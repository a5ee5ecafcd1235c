/*
expect: {status: done, result: [5, 6, 7, 8]}
*/
// An early break keeps the value before it.
const size = (n: number): number => {
  switch (n) {
    case 1: if (n > 0) { return 5; }
      return 0;
    default: return n;
  }
};
const kinds = [size(1), 6, 7];
switch (kinds.length) {
  case 3:
    if (kinds[0] === 5) {
      [...kinds, 8];
      break;
    }
    "not here";
    break;
  default:
    "nor here";
}
