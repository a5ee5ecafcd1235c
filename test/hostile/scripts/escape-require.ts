/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
require("node:fs").readFileSync("/etc/passwd", "utf8")
