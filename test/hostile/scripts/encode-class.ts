/*
expect: {status: failed, code: SCRIPT_RESULT}
*/
class Money { constructor() { this.amount = 1 } }
echo({ x: new Money() })
