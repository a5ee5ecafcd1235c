/*
expect: {status: done, result: [3, 4, true]}
*/
const text = "a\0b";
const frame = "],1]";
const back = echo([text, frame, "\u2028\u2029\ud800"]);
[back[0].length, back[1].length, back[2] === "\u2028\u2029\ud800"]
