/*
expect: {status: done, result: false}
*/
let text = "";
try { null.x } catch (e) { text = e.stack }
try { echo(() => 1) } catch (e) { text += e.stack }
/[/\\](work|home|usr|tmp|node_modules|runtime)[/\\]|node:/.test(text)
