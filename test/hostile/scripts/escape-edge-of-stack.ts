/*
expect: {status: done, result: false}
*/
let text = "";
function dive() {
  try { dive() } catch (e) { text += e.stack; try { echo(1) } catch (inner) { text += inner.stack } throw new Error("out") }
}
try { dive() } catch {}
/[/\\](work|home|usr|tmp|node_modules)[/\\]|node:|child\.js/.test(text)
