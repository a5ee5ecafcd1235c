/*
expect: {status: failed, code: SCRIPT_SYNTAX}
*/
import.meta.url
