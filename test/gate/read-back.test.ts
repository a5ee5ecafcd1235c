/** A tool that others are read back by (`verify: {read: ...}` in trust.yaml) only reads, whatever its name says: in a proposal and in a run. */
import { afterAll, expect, test } from "vitest";
import { cleared } from "../cli/command-line.ts";
import { confirm } from "../confirm.ts";
import { close, closeAll, decide, host, openCard, removeAll, run } from "../engine/harness.ts";
import { header, type Shop, shop } from "./shop.ts";

afterAll(closeAll);
afterAll(removeAll);

const LOOKS = (tool: string) => `${header("mcp")}mcp_call({ tool: "shop/${tool}", params: { invoice_id: "I-1" } });\n1;\n`;
const PAYS = `${header("mcp, approval")}mcp_call({ tool: "shop/legal_review", params: { invoice_id: "I-1" } });
const { calls } = approval_wait({ title: "Pay?", calls: [{ tool: "shop/pay_blind", params: { invoice_id: "I-1" } }] });
mcp_call(calls[0]);
mcp_call({ tool: "shop/legal_review", params: { invoice_id: "I-1" } });
"paid";
`;

/** Its payments are read back by a tool whose name does not prove that it only reads; none has a class of its own. */
async function readBackBy(tool: string, trusted: boolean): Promise<Shop> {
  const one = await shop({}, trusted);
  one.commit({ "trust.yaml": `${one.read("trust.yaml").replace("{read: get_invoice", `{read: ${tool}`)}# confirmed\n` }, "trust");
  confirm(one.dir);
  return one;
}
const proposed = async (one: Shop, text: string): Promise<string> => {
  one.write("agents/looks.ts", text);
  expect(await cleared(one.dir, "propose", "-m", "Look")).toMatchObject({ code: 0 });
  return (await cleared(one.dir, "proposals", "show", "1")).stdout;
};

test.each([true, false])("the card of a proposal says that it reads, for a trusted server (%s)", async (trusted) => {
  expect(await proposed(await readBackBy("legal_review", trusted), LOOKS("legal_review"))).toMatch(/reads with shop\/legal_review/);
  const why = trusted ? "its name does not prove that it only reads" : "its server is not trusted, and trust.yaml gives it no class";
  expect(await proposed(await readBackBy("get_invoice", trusted), LOOKS("legal_review"))).toContain(
    `calls shop/legal_review, which changes things (${why})`,
  );
});

test("a run calls it without asking; its card is about the act alone", async () => {
  const one = await readBackBy("legal_review", false);
  one.commit({ "agents/pays.ts": PAYS }, "agent");
  const owner = await host(one);
  const waiting = await run(owner, "pays");
  expect([waiting.status, waiting.error]).toEqual(["waiting", null]);
  expect(openCard(owner, waiting.id).calls).toEqual([{ tool: "shop/pay_blind", params: { invoice_id: "I-1" } }]);
  expect(one.reached().map(({ tool }) => tool)).toEqual(["legal_review"]);
  expect(await decide(owner, waiting.id, "approved")).toMatchObject({ status: "done", result: "paid", error: null });
  expect(one.reached().map(({ tool }) => tool)).toEqual(["legal_review", "legal_review", "pay_blind", "legal_review"]);
  await close(owner);
  // Nothing is read back by it any more: nobody has said what it is.
  const other = await readBackBy("get_invoice", false);
  other.commit({ "agents/pays.ts": PAYS }, "agent");
  const failed = await run(await host(other), "pays");
  expect(failed.error).toMatchObject({ code: "TOOL_REFUSED", message: expect.stringContaining("trust.yaml gives it no class") });
  expect(other.reached()).toEqual([]);
});
