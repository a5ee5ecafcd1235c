/**
 * All pages of a reading tool (spec/worker.md 12). Either the fetched set is whole, or `complete` is false and `reason` says why:
 * a truncated list never looks complete. Only one style of paging is sent, that of the tool's schema.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { Call, Json } from "../../kernel/ports.ts";
import { nameWords, spelled } from "./classify.ts";
import { failureIn, type Fields, isObject, matches, own, propertiesOf } from "./shape.ts";

// 100 a page as in the seeds; 200 pages are 20,000 records, about as many as one answer through the door may contain.
const PAGE_SIZE = 100;
const MAX_PAGES = 200;

const CONTAINERS = "data results records items rows transactions invoices tickets accounts issues users deals contacts entries".split(" ");

/** Parameters by their function, best first; compared as words, so pageToken is page_token. */
const CURSORS = ["cursor", "page_token", "next_token", "next_cursor", "continuation_token", "starting_after", "after"];
const NUMBERS = ["page", "page_number", "page_no", "page_num"];
const OFFSETS = ["offset", "skip", "start_index"];
const SIZES = ["limit", "per_page", "page_size", "max_results", "first", "take"];

/** The records of one answer: by `key`, else a known container, else the first list that is not empty. */
export function recordsOf(answer: Json, key?: string): Json[] {
  if (Array.isArray(answer)) return answer;
  if (!isObject(answer)) return [];
  const lists = key !== undefined ? [own(answer, key)] : CONTAINERS.map((name) => own(answer, name));
  const found = lists.find((value) => Array.isArray(value));
  if (found !== undefined || key !== undefined) return Array.isArray(found) ? found : [];
  const any = Object.values(answer).find((value) => Array.isArray(value) && value.length > 0);
  return Array.isArray(any) ? any : [];
}

/** What an answer says about further pages, at its top or in the usual envelopes. */
function pagingIn(answer: Json, count: number) {
  const top = isObject(answer) ? answer : {};
  const inner = ["meta", "metadata", "pagination", "paging", "page_info", "links", "response_metadata"];
  const all = [top, ...Object.entries(top).flatMap(([key, value]) => (inner.includes(spelled(key)) && isObject(value) ? [value] : []))];
  const pairs = all.flatMap((one) => Object.entries(one).map(([key, value]): [string, Json] => [spelled(key), value]));
  const first = <T>(names: string[], is: (value: Json) => value is T & Json): T | null => {
    for (const name of names) for (const [key, value] of pairs) if (key === name && is(value)) return value;
    return null;
  };
  const isText = (value: Json): value is string => typeof value === "string" && value !== "";
  const isKey = (value: Json): value is string | number => isText(value) || typeof value === "number";
  const isCount = (value: Json): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  const isFlag = (value: Json): value is boolean => typeof value === "boolean";
  const counted = first(["count"], isCount);
  const nexts = ["next_cursor", "next_page_token", "next_token", "continuation_token", "end_cursor"];
  // `cursor` beside a next_* only repeats the request's own.
  const bare = pairs.some(([key]) => nexts.includes(key)) ? ["next"] : ["next", "cursor"];
  const cursor = first(nexts, isKey) ?? first(bare, isText);
  const next = first(["next_page", "next"], isCount);
  // An empty next_* means that this is the last page.
  const closed = pairs.some(([key, value]) => [...nexts, "next", "next_page"].includes(key) && (value === null || value === ""));
  const more = first(["has_more", "has_next_page", "has_next", "next_page", "more"], isFlag);
  return {
    cursor,
    /** The number of the next page. */
    next,
    page: first(["page", "current_page", "page_number"], isCount),
    more: more ?? (closed && cursor === null && next === null ? false : null),
    total:
      first(["total", "total_count", "total_results", "total_records"], isCount) ?? (counted !== null && counted > count ? counted : null),
  };
}

/** The parameters for a cursor: itself, or the query of the address when it is a link. */
function cursorParams(cursor: string | number, name: string | null, known: readonly string[]): Fields | null {
  const query = typeof cursor === "string" && /^(https?:\/)?\/|^\?/.test(cursor) ? /\?([^#]*)/.exec(cursor)?.[1] : undefined;
  if (query === undefined) return name === null ? null : { [name]: cursor };
  const given = [...new URLSearchParams(query)].filter(([key]) => [...CURSORS, ...NUMBERS, ...OFFSETS].includes(spelled(key)));
  const usable = given.filter(([key]) => known.length === 0 || known.includes(key));
  return usable.length === 0
    ? null
    : Object.fromEntries(usable.map(([key, value]) => [key, /^\d{1,15}$/.test(value) ? Number(value) : value]));
}

/** How a tool is paged, by the parameters of its schema: one of cursor, number and offset is used, in this order. */
function styleOf(schema: Json, params: Fields) {
  const properties = propertiesOf(schema);
  const known = [...new Set([...Object.keys(properties), ...Object.keys(params)])];
  const named = (names: readonly string[]): string | null =>
    names.map((name) => known.find((key) => spelled(key) === name)).find((key) => key !== undefined) ?? null;
  const fact = (name: string | null, key: string): Json | undefined => {
    const property = name === null ? undefined : properties[name];
    return isObject(property) ? property[key] : undefined;
  };
  const count = (...values: (Json | undefined)[]): number | null => values.find((value) => typeof value === "number") ?? null;
  const [number, offset, size] = [named(NUMBERS), named(OFFSETS), named(SIZES)];
  const most = count(fact(size, "maximum"));
  const asked = size === null ? null : (count(params[size]) ?? Math.min(PAGE_SIZE, most ?? PAGE_SIZE));
  return {
    known,
    cursor: named(CURSORS) ?? (known.length === 0 ? "cursor" : null),
    number,
    offset: number === null ? offset : null,
    /** The page size's parameter with its value, or empty. */
    size: (size === null || asked === null ? {} : { [size]: asked }) as Fields,
    /** A shorter page is the last: the schema's maximum promises pages this full. Null: only an empty page is the last. */
    full: asked !== null && most !== null && asked <= most ? asked : null,
    /** The number of the first page; null when pages may count from 0 or 1. */
    base: count(number === null ? undefined : params[number], fact(number, "default"), fact(number, "minimum")),
  };
}

/** Records, each listed once by its id if it has one; an id that is a parameter of the tool belongs to something else. */
function createKept(tool: string, asked: readonly string[]) {
  const noun = nameWords(tool.split("/").at(-1) ?? "")
    .slice(1)
    .join("_")
    .replace(/ies$/, "y")
    .replace(/s$/, "");
  const names = ["id", "_id", "uuid", `${noun}_id`, `${noun}_number`];
  const byId = new Map<string, string>();
  const seen = new Set<string>();
  let ids = true;
  const idOf = (record: Json): string | null => {
    if (!isObject(record)) return null;
    const [first = ""] = Object.keys(record);
    const known = /_(?:id|number)$/.test(spelled(first)) && !asked.includes(first) ? [...names, first] : names;
    const name = known.find((one) => typeof record[one] === "string" || typeof record[one] === "number");
    return name === undefined ? null : String(record[name]);
  };
  const kept = {
    records: [] as Json[],
    duplicates: 0,
    /** An id with different contents on two pages: the set changed during the fetch. */
    conflict: null as string | null,
    idOf,
    /** False when the page contains only known records. */
    add(page: readonly Json[]): boolean {
      const texts = page.map((record) => JSON.stringify(record));
      const here = new Map<string, string>();
      // An id with two contents on one page is not an id of these records.
      page.forEach((record, i) => {
        const id = idOf(record);
        if (id !== null && (here.get(id) ?? texts[i]) !== texts[i]) ids = false;
        if (id !== null) here.set(id, texts[i] ?? "");
      });
      const whole = texts.join("\n");
      const known = seen.has(whole) || (ids && page.length > 0 && page.every((record, i) => byId.get(idOf(record) ?? "") === texts[i]));
      seen.add(whole);
      if (known) return false;
      page.forEach((record, i) => {
        const id = ids ? idOf(record) : null;
        const before = id === null ? undefined : byId.get(id);
        if (before !== undefined && before !== texts[i]) kept.conflict ??= id;
        if (before !== undefined) kept.duplicates++;
        else kept.records.push(record);
        if (id !== null) byId.set(id, texts[i] ?? "");
      });
      return true;
    },
  };
  return kept;
}

/**
 * Fetches all pages of `call.tool`, starting at the page, offset, cursor or size in `call.params`. `schema`: of the tool's input.
 * `where`: only records whose fields equal these. `step` makes one call with these parameters; an error of the tool ends the fetch as
 * incomplete, but an error on the first page is thrown.
 */
export async function fetchAll(
  call: Call,
  options: {
    schema: Json;
    where?: Fields | undefined;
    maxPages?: number;
    resultKey?: string | undefined;
    step(params: Fields): Promise<Json>;
  },
) {
  const params = isObject(call.params) ? call.params : {};
  const style = styleOf(options.schema, params);
  const base = { ...params, ...style.size };
  const kept = createKept(call.tool, style.known);
  const given = (name: string | null): Json | undefined => (name === null ? undefined : params[name]);
  const start = Number(given(style.offset) ?? 0);
  // When the fetch starts in the middle, a total does not tell how many records follow; after an offset it does.
  const counts = given(style.cursor) === undefined && given(style.number) === undefined;
  const asked = new Set<string>();
  let [pages, offset, number, probing] = [0, start, style.base, false];
  let sent: Fields = style.number === null || style.base === null ? base : { ...base, [style.number]: style.base };
  const end = (reason: string | null) => ({
    records: kept.records.filter((one) => options.where === undefined || matches(options.where, one)),
    complete: reason === null,
    pages,
    reason,
    /** Records that came twice and are listed once. */
    duplicates: kept.duplicates,
  });

  while (true) {
    asked.add(JSON.stringify(sent));
    let answer: Json;
    try {
      answer = await options.step(sent);
    } catch (error) {
      if (!(error instanceof ClearedError) || pages === 0) throw error;
      return end(`error on page ${pages + 1}: ${error.message}`);
    }
    const failure = failureIn(answer);
    pages++;
    if (failure !== null) return end(`error on page ${pages}: ${failure}`);
    const records = recordsOf(answer, options.resultKey);
    const paging = pagingIn(answer, records.length);
    const advanced = kept.add(records);
    if (kept.conflict !== null) return end(`record ${kept.conflict} came with two contents`);
    offset += records.length;
    const left = paging.total === null || !counts ? null : paging.total - start - kept.records.length;
    const missing = left !== null && left > 0 ? `${left} of ${paging.total} records are missing` : null;
    const last = style.cursor?.includes("after") === true && paging.more === true ? kept.idOf(records.at(-1) ?? null) : null;
    const cursor = paging.more === false ? null : (paging.cursor ?? last);
    if (cursor === null && (paging.more === false || (left !== null && left <= 0 && paging.more !== true))) return end(missing);
    const followed = cursor === null ? null : cursorParams(cursor, style.cursor, style.known);
    if (followed !== null) sent = { ...base, ...followed };
    else if (style.number === null && style.offset === null) {
      const more = cursor !== null || paging.more === true || paging.next !== null;
      return end(missing ?? (more ? "the tool has more, but no parameter to request it" : null));
    } else {
      if (records.length === 0) return end(missing ?? (paging.more === true ? "the tool says there is more and sends nothing" : null));
      if (!advanced && !probing) return end("the page did not advance");
      if (paging.more === null && left === null && style.full !== null && records.length < style.full) return end(null);
      if (style.number !== null) {
        // Pages may count from 0 or 1: the second call asks for 1, and if that is the first page again, the third asks for 2.
        const from = number ?? paging.page;
        probing = from === null && paging.next === null;
        number = paging.next ?? (from ?? 0) + 1;
        sent = { ...base, [style.number]: number };
      } else sent = { ...base, [style.offset ?? ""]: offset };
    }
    if (asked.has(JSON.stringify(sent))) return end("cursor did not advance");
    if (pages >= (options.maxPages ?? MAX_PAGES)) return end(`max_pages: stopped after ${pages} pages`);
  }
}
