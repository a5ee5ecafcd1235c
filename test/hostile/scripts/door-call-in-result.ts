/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
({ get x() { return echo(1) } })
