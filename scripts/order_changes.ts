/*
name: Order changes
description: What words ask to be changed of an order, by the names of its articles - "remove 3x Widget A, add 2 Widget B"
input: {task: {type: string, required: true}}
*/
const { task } = input;
const asked = [...task.matchAll(/\b(remove|drop|add)\s+(\d{1,6})\s*[x×]?\s+([^,;.]+?)(?=\s*(?:[,;.]|\band\b|$))/gim)];
const stock = asked.length === 0 ? [] : mcp_fetch_all({ tool: "erp/list_inventory", params: {} }).records;
const how = `Send it as data, such as {"changes": [{"sku": "WIDGET-A", "by": -3}]}.`;
// Words that speak of a change without saying which one do not ask for the order to be shipped, nor half of a change for the other half.
const left = asked.reduce((text, [found]) => text.replace(found, ""), task);
const others = /\b(?:remove|drop|add|cancel|reduce|increase|replace|swap|exchange|return|refund|instead|fewer|on hold)\b/i;
const isLeft = asked.length === 0 ? /\b(?:modify|change)\b/i : /(?<![\w-])\d{1,6}\s*[x×]?\s+[a-z]/i;
const isDenied = /(?:\bnot|\bnever|n['’]t)\s+(?:remove|drop|add)\b/i;
if (others.test(left) || isLeft.test(left) || isDenied.test(task)) throw new Error(`What is to be changed is not clear. ${how}`);
asked.map(([, verb = "", pieces, article = ""]) => {
  const found = stock.find((one: any) => [one.name, one.sku].some((known) => known.toLowerCase() === article.toLowerCase()));
  if (found === undefined) throw new Error(`"${article}" is not the name of an article in stock. ${how}`);
  return { sku: found.sku, by: Number(pieces) * (verb.toLowerCase() === "add" ? 1 : -1) };
});
