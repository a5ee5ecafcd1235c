/*
expect: {status: failed, code: [LIMIT_CPU, LIMIT_DEPTH, LIMIT_MEMORY, SCRIPT_ERROR]}
*/
JSON.parse("[".repeat(3e6) + "]".repeat(3e6)).length; throw new Error("parsed")
