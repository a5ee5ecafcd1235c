/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
null.x
//# sourceURL=agents/other.ts
//@ sourceURL=realm
//# sourceMappingURL=data:application/json;base64,e30=
