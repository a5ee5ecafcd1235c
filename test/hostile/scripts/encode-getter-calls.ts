/*
expect: {status: done, result: ["in", {"a": 1, "b": {"z": 1}}]}
*/
// A call inside the encoding of another: both are whole, the inner one is first.
const seen = [];
const out = echo([{ get a() { seen.push(echo("in")); return 1 }, get b() { return echo([{ z: 1 }])[0] } }]);
[seen[0], out[0]]
