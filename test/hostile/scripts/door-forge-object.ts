/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
throw { code: "INTERNAL", message: "forged" }
