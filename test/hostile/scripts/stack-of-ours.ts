/*
expect: {status: done, result: []}
*/
// No stack shows a line of what runs the script: not in a getter that our encoder calls, not in a callback of ours, not at the bottom.
const stacks = [new Error("a").stack];
echo({ get a() { stacks.push(new Error("b").stack); return 1 } });
echo([{ get b() { stacks.push(new Error("c").stack); return 1 } }]);
try { echo(() => 1) } catch (e) { stacks.push(e.stack) }
try { +new Decimal(1) } catch (e) { stacks.push(e.stack) }
try { new Decimal("x") } catch (e) { stacks.push(e.stack) }
try { new Decimal(2).pow({ get s() { stacks.push(new Error("d").stack); return 1 } }) } catch (e) { stacks.push(e.stack) }
try { "a".localeCompare({ toString() { throw new Error("e") } }) } catch (e) { stacks.push(e.stack) }
try { (5).toLocaleString("en", { get style() { throw new Error("f") } }) } catch (e) { stacks.push(e.stack) }
const error = new Error("g");
Object.defineProperty(error, "name", { get() { stacks.push(new Error("h").stack); throw 1 } });
stacks.push(error.stack);
stacks.push(Error.prepareStackTrace(new Error("i"), []));
Object.defineProperty(Object.getPrototypeOf({}), "value", { get() { stacks.push(new Error("j").stack) }, configurable: true });
stacks.push(error.stack);
const lines = stacks.flatMap((stack) => String(stack).split("\n")).filter((line) => line.startsWith("    at "));
const mine = lines.filter((line) => line.includes("agents/stack-of-ours.ts") && !line.includes("agents/stack-of-ours.ts:1:"));
lines.filter((line) => !mine.includes(line) && !/\(<anonymous>\)$/.test(line))
