/** Requests over the page: the same as `cleared ask`, by whoever the browser is paired with. */
import { expect, test } from "vitest";
import { createApi } from "../../runtime/app/api.ts";
import { createFacts } from "../../runtime/app/facts.ts";
import { openHost } from "../../runtime/app/open-host.ts";
import { listen } from "../../runtime/outside/http.ts";
import { createStatusApp } from "../../runtime/web/app.ts";
import { until } from "../cli/command-line.ts";
import { asking, call, lastResult } from "./asking.ts";

test("a request is started, asks, is answered and ends on the page, with its cost; an unpaired browser starts none", async () => {
  const one = await asking(
    {
      "Amazon is equipment": [
        call("ask_user", { question: "Which account is equipment?", options: ["Office Supplies", "Software"] }),
        (asked) => call("decline", { reason: `You said ${JSON.parse(lastResult(asked)).the_user_says}.` }),
      ],
    },
    { runs: false },
  );
  const host = await openHost(one.dir, { mode: "owner" });
  const site = await listen(createStatusApp(createFacts(host, createApi(host)), host.clock), 0);
  try {
    const get = async (path: string) => (await fetch(site.url + path)).text();
    const token = /name="token" value="([^"]+)"/.exec(await get("/asks"))?.[1] ?? "";
    const post = (path: string, fields: Record<string, string>) =>
      fetch(site.url + path, { method: "POST", redirect: "manual", headers: { origin: site.url }, body: new URLSearchParams(fields) });
    expect((await post("/asks", { text: "Amazon is equipment" })).status).toBe(403);
    const begun = await post("/asks", { token, text: "Amazon is equipment" });
    expect([begun.status, begun.headers.get("location")]).toEqual([303, "/asks/1"]);
    await until(async () => (await get("/asks/1")).includes("Which account is equipment?"));
    expect(await get("/")).toContain("Which account is equipment?");
    expect((await post("/asks/1", { token, option: "", answer: "" })).status).toBe(400);
    expect((await post("/asks/1", { token, option: "Software", answer: "" })).status).toBe(303);
    await until(async () => (await get("/asks/1")).includes("You said Software."));
    const page = await get("/asks/1");
    expect(page).toMatch(/Request 1[\s\S]*Ada[\s\S]*0\.\d+ USD[\s\S]*answered: Software/);
    expect(await get("/")).not.toContain("Which account");
    expect((await fetch(`${site.url}/asks/9`)).status).toBe(404);
    expect((await post("/asks", { token, text: " " })).status).toBe(400);
  } finally {
    await site.close();
    await host.close();
  }
});
