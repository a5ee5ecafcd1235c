/** A fetch of all pages is the whole set without duplicates, or says that it is not (spec/worker.md 12; property 8 of section 35). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { fetchAll } from "../../runtime/rules/tools/pages.ts";

type Args = Record<string, Json>;
type Style = { schema: Json; answer(all: Json[], params: Args, cap: number): Json };

const properties = (...names: string[]): Json => ({ properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
/** At most `cap` records a page, whatever is asked for; the tool says so nowhere. */
const sized = (params: Args, name: string, cap: number): number => Math.min(Number(params[name] ?? cap), cap);
const cursorStyle = (parameter: string, schema: Json, next: (cursor: string | null) => Args): Style => ({
  schema,
  answer: (all, params, cap) => {
    const from = Number(params[parameter] ?? 0);
    const size = sized(params, "limit", cap);
    return { items: all.slice(from, from + size), ...next(from + size < all.length ? String(from + size) : null) };
  },
});
const pageStyle = (base: number, schema: Json, more: (facts: { total: number; last: boolean; page: number }) => Args): Style => ({
  schema,
  answer: (all, params, cap) => {
    const page = Number(params["page"] ?? base);
    const from = (page - base) * cap;
    return { results: all.slice(from, from + cap), ...more({ total: all.length, last: from + cap >= all.length, page }) };
  },
});
const offsetStyle = (schema: Json, more: (facts: { total: number; last: boolean }) => Args): Style => ({
  schema,
  answer: (all, params, cap) => {
    const from = Number(params["offset"] ?? 0);
    const size = sized(params, "limit", cap);
    return { data: all.slice(from, from + size), ...more({ total: all.length, last: from + size >= all.length }) };
  },
});

const STYLES: Record<string, Style> = {
  next_cursor: cursorStyle("cursor", properties("cursor", "limit"), (next_cursor) => ({ next_cursor })),
  "meta.next_cursor": cursorStyle("cursor", properties("cursor"), (next) => ({ meta: { next_cursor: next } })),
  "pagination.next": cursorStyle("cursor", properties("cursor", "page"), (next) => ({ pagination: { next } })),
  pageInfo: cursorStyle("after", properties("after", "first"), (next) => ({
    pageInfo: { hasNextPage: next !== null, endCursor: next ?? "end" },
  })),
  nextPageToken: cursorStyle("pageToken", properties("pageToken"), (next) => (next === null ? {} : { nextPageToken: next })),
  "two envelopes": cursorStyle("cursor", properties("cursor"), (next) => ({ links: { next: null }, meta: { next_cursor: next } })),
  "links.next": cursorStyle("cursor", properties("cursor"), (next) => ({
    links: { next: next && `https://x.example/list?cursor=${next}` },
  })),
  nextCursor: cursorStyle("cursor", {}, (next) => (next === null ? {} : { nextCursor: next })),
  "page with total": pageStyle(1, properties("page", "limit"), ({ total }) => ({ total })),
  "page from 0, said by the schema": pageStyle(0, { properties: { page: { default: 0 } } }, ({ last }) => ({ has_more: !last })),
  "page from 0, said nowhere": pageStyle(0, properties("page"), () => ({})),
  "page from 1, said nowhere": pageStyle(1, properties("page"), () => ({})),
  "page with next_page": pageStyle(1, properties("page"), ({ last, page }) => ({ next_page: last ? null : page + 1 })),
  "page that counts itself": pageStyle(1, properties("page", "per_page"), ({ page }) => ({ page })),
  "offset with total_count": offsetStyle(properties("offset", "limit"), ({ total }) => ({ meta: { total_count: total } })),
  "offset with has_more": offsetStyle(properties("offset", "limit"), ({ last }) => ({ has_more: !last })),
  "offset alone": offsetStyle(properties("offset", "limit"), () => ({})),
  "skip and page": offsetStyle(properties("offset", "page"), ({ total }) => ({ total })),
  "no paging at all": { schema: properties("status"), answer: (all) => all },
};

describe.each(Object.entries(STYLES))("%s", (name, { schema, answer }) => {
  it("gives the whole set or complete: false, for every size of set and page", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(60), fc.integer({ min: 1, max: 25 }), fc.boolean(), async (size, cap, ids) => {
        const all: Json[] = Array.from({ length: size }, (_, i) => (ids ? { id: i, amount: "5" } : { line: i }));
        const found = await fetchAll(
          { tool: "s/list_rows", params: {} },
          { schema, step: async (params) => structuredClone(answer(all, params, cap)) },
        );
        expect(new Set(found.records.map((one) => JSON.stringify(one))).size).toBe(found.records.length);
        if (found.complete) expect(found.records).toEqual(all);
        else expect(found.reason).not.toBeNull();
        // Honesty by giving up would be cheap: where the style is sound, the fetch is whole.
        if (name !== "skip and page") expect(found.complete).toBe(true);
      }),
    );
  });
});

const run = (answers: (Json | Error)[], schema: Json = properties("cursor", "limit"), params: Args = {}) => {
  const sent: Args[] = [];
  const result = fetchAll(
    { tool: "s/list_invoices", params },
    {
      schema,
      step: async (one) => {
        sent.push(one);
        const next = answers[sent.length - 1] ?? [];
        if (next instanceof Error) throw next;
        return next;
      },
    },
  );
  return { result, sent };
};

it.each<[string, (Json | Error)[], Json, Json]>([
  [
    "an echoed cursor",
    [
      { data: [{ id: 1 }], cursor: "a" },
      { data: [{ id: 2 }], cursor: "a" },
    ],
    [1, 2],
    "cursor did not advance",
  ],
  ["an error on the way", [{ data: [{ id: 1 }], next_cursor: "a" }, { error: "busy" }], [1], "error on page 2: busy"],
  [
    "a server that dies on the way",
    [{ data: [{ id: 1 }], next_cursor: "a" }, new ClearedError("TOOL_DOWN", "gone")],
    [1],
    "error on page 2: gone",
  ],
  ["a total that is not reached", [{ data: [{ id: 1 }], total: 3, next_cursor: null }], [1], "2 of 3 records are missing"],
  [
    "a record that changed meanwhile",
    [{ data: [{ id: 1, a: 1 }], next_cursor: "b" }, { data: [{ id: 1, a: 2 }] }],
    [1],
    "record 1 came with two contents",
  ],
  ["an overlap, which is no gap", [{ data: [{ id: 1 }, { id: 2 }], next_cursor: "b" }, { data: [{ id: 2 }, { id: 3 }] }], [1, 2, 3], null],
])("says %s", async (_, answers, ids, reason) => {
  const { records, reason: said, complete } = await run(answers).result;
  expect(records.map((one) => (one as Args)["id"])).toEqual(ids);
  expect(said).toBe(reason);
  expect(complete).toBe(reason === null);
});

it("identifies records by the id their tool names, and leaves equal records without an id alone", async () => {
  const page = (n: number): Json => ({ invoice_id: `I${n}`, amount: "5" });
  const overlap = await run([{ data: [page(1), page(2)], next_cursor: "b" }, { data: [page(2), page(3)] }]).result;
  expect(overlap).toMatchObject({ records: [page(1), page(2), page(3)], duplicates: 1 });
  const coffees: Json = [{ amount: "3.20" }, { amount: "3.20" }];
  expect((await run([coffees]).result).records).toEqual(coffees);
});

it("uses one pagination style, and starts where the caller says", async () => {
  const both = { properties: { page: { default: 1 }, offset: {}, limit: { maximum: 50 } } };
  const { result, sent } = run(
    [
      { data: [{ id: 1 }], has_more: true },
      { data: [{ id: 2 }], has_more: false },
    ],
    both,
    { page: 4 },
  );
  await result;
  expect(sent).toEqual([
    { page: 4, limit: 50 },
    { page: 5, limit: 50 },
  ]);
});

it("passes an error of the first page on, and filters the complete set", async () => {
  await expect(run([new ClearedError("TOOL_FAILED", "no")]).result).rejects.toMatchObject({ code: "TOOL_FAILED" });
  const found = await fetchAll(
    { tool: "s/list_invoices", params: {} },
    { schema: {}, where: { total: "5.00" }, step: async () => [{ id: 1, total: 5 }, { id: 2, total: "50" }, { id: 3 }] },
  );
  expect(found).toMatchObject({ records: [{ id: 1 }], complete: true });
});
