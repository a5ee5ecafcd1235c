// What `cleared` is in a line of shell of a test with a warm host: asks that host, says what it said. Plain and small: it starts often.
const { connect } = require("node:net");
const { fstatSync, readFileSync } = require("node:fs");

const stat = fstatSync(0);
const input = stat.isFIFO() || stat.isFile() || stat.isSocket() ? readFileSync(0, "latin1") : null;
const { CLEARED_WARM, ...env } = process.env;
const connection = connect(CLEARED_WARM);
let text = "";
connection.setEncoding("utf8").on("data", (more) => (text += more));
connection.on("end", () => {
  const { code, said } = JSON.parse(text);
  process.exitCode = code;
  // A pipe that somebody has closed (`| head`) ends nothing.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  for (const [stream, words] of said) process[stream].write(Buffer.from(words, "latin1"));
});
connection.end(JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), env, input }));
