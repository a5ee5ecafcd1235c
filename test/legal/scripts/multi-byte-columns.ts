/*
expect: {status: done, result: ["é😀", 4, "ß"]}
*/
const text: string = "é😀"; const copy = echo(text); [copy, text.length + 1, "ß"]
