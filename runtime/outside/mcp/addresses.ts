/**
 * Outgoing HTTP: which addresses may be reached, and a fetch that connects to exactly the address that was checked.
 * An address given to a run is denied unless trust.yaml allows it. A name is resolved inside the connection itself, so a name server that
 * answers differently the second time (DNS rebinding) gains nothing; redirects are returned, never followed here.
 */
import { lookup as systemLookup } from "node:dns/promises";
import { type IncomingMessage, request as http } from "node:http";
import { request as https } from "node:https";
import { BlockList, type LookupFunction, isIP, isIPv6 } from "node:net";
import { Readable, Transform } from "node:stream";
import { ClearedError } from "../../kernel/errors.ts";
import type { AddressRules } from "../../workspace/settings/config.ts";

export interface Address {
  address: string;
  family: number;
}

/** All addresses of a host name. */
export type Resolve = (host: string) => Promise<Address[]>;

/** The part of `fetch` that the MCP client and the plain endpoint use. Never follows a redirect. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface FetchOptions {
  /** Null: a person has named the address in trust.yaml, so any is allowed. */
  rules: AddressRules | null;
  /** A longer answer is refused with TOOL_ANSWER. */
  maxBytes: number;
  resolve?: Resolve | undefined;
}

// IANA special-purpose registries (RFC 6890 and its updates), multicast and reserved space.
const SPECIAL_V4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 " +
  "192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3";
// Only 2000::/3 is public; it contains protocol assignments, documentation, and 6to4, which embeds an IPv4 address.
const SPECIAL_V6 = "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20";

const special = blockList(`${SPECIAL_V4} ${SPECIAL_V6}`.split(" "));
const globalV6 = blockList(["2000::/3"]);
const loopback = blockList(["127.0.0.0/8", "::1/128"]);

const systemResolve: Resolve = (host) => systemLookup(host, { all: true, verbatim: true });

/** @throws CONFIG_INVALID for an invalid range */
function blockList(ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [base = "", bits = ""] = range.split("/");
    try {
      list.addSubnet(base, Number(bits), isIPv6(base) ? "ipv6" : "ipv4");
    } catch (cause) {
      throw new ClearedError("CONFIG_INVALID", `trust.yaml: addresses.allow: "${range}" is not a range such as 10.0.0.0/8.`, { cause });
    }
  }
  return list;
}

const has = (list: BlockList, { address }: Address): boolean => list.check(address, isIPv6(address) ? "ipv6" : "ipv4");

/** An IPv4-mapped IPv6 address (::ffff:10.0.0.1) is outside 2000::/3, so it is never public. */
function isPublic(address: Address): boolean {
  return !has(special, address) && (!isIPv6(address.address) || has(globalV6, address));
}

/**
 * Judges connections: `host` as written in the address, `addresses` what it resolved to. Every one of them must be allowed: by a listed range,
 * as this machine, or as a public address of a listed host.
 * @throws TOOL_REFUSED naming host and reason
 */
export function createJudge(rules: AddressRules): (host: string, addresses: Address[]) => void {
  const ranges = blockList(rules.allow.filter((one) => one.includes("/")));
  const hosts = rules.allow.filter((one) => !one.includes("/")).map((one) => one.toLowerCase());
  const isListed = (host: string) => hosts.some((one) => (one.startsWith("*.") ? host.endsWith(one.slice(1)) : host === one));
  return (host, addresses) => {
    const listed = isListed(host.toLowerCase().replace(/\.$/, ""));
    const fault = addresses.find((one) => !has(ranges, one) && !(rules.loopback && has(loopback, one)) && !(listed && isPublic(one)));
    if (fault === undefined && addresses.length > 0) return;
    const reason = isPublic(fault ?? { address: "::", family: 6 })
      ? `${host} is not listed`
      : `${host} leads to ${fault?.address ?? "nowhere"}, which is inside a network or this machine`;
    throw new ClearedError("TOOL_REFUSED", `${reason}. Only addresses under addresses: in trust.yaml may be named with a run.`, {
      data: { host },
    });
  };
}

/** Checked before anything is sent; createFetch checks again with each connection. @throws TOOL_REFUSED */
export async function assertMayReach(url: string, rules: AddressRules, resolve = systemResolve): Promise<void> {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
  const judge = createJudge(rules);
  if (isIP(host) !== 0) return judge(host, [{ address: host, family: isIP(host) }]);
  // A name that cannot be resolved now may be later; then the list of hosts decides.
  judge(host, await resolve(host).catch(() => [{ address: "1.1.1.1", family: 4 }]));
}

/**
 * A fetch with one connection per request: no call is lost on a kept connection that the other side has just closed.
 * @throws TOOL_REFUSED (address), TOOL_DOWN (no connection: nothing was sent), TOOL_ANSWER (too long); later failures are the system's own errors
 */
export function createFetch({ rules, maxBytes, resolve = systemResolve }: FetchOptions): Fetch {
  const judge = rules === null ? () => undefined : createJudge(rules);
  // All addresses are looked up, so that a host with only one working family is reached (RFC 8305).
  const lookup: LookupFunction = (host, _, done) => {
    resolve(host).then(
      (addresses) => {
        try {
          judge(host, addresses);
          done(null, addresses);
        } catch (error) {
          done(error as Error, []);
        }
      },
      (error) => done(error as Error, []),
    );
  };
  return async (target, init = {}) => {
    const url = new URL(target);
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new ClearedError("TOOL_REFUSED", `A tool server is reached over http or https, not over "${url.protocol}".`);
    }
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    if (isIP(host) !== 0) judge(host, [{ address: host, family: isIP(host) }]);
    const answer = await new Promise<IncomingMessage>((answered, failed) => {
      const headers = Object.fromEntries(new Headers(init.headers));
      const send = url.protocol === "https:" ? https : http;
      const asking = send(url, {
        method: init.method ?? "GET",
        headers,
        agent: false,
        lookup,
        ...(init.signal ? { signal: init.signal } : {}),
      });
      let connected = false;
      asking.on("socket", (socket) => socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => (connected = true)));
      asking.on("response", answered).on("error", (error) => {
        const given = connected || error instanceof ClearedError || init.signal?.aborted;
        failed(given ? error : new ClearedError("TOOL_DOWN", `No connection to ${url.host}: ${error.message || error}.`, { cause: error }));
      });
      // A switch to another protocol is not an answer, and ends without an event.
      asking.on("close", () => failed(new Error("it ended without an answer")));
      asking.end(init.body == null ? undefined : String(init.body));
    });
    return responseOf(answer, maxBytes);
  };
}

function responseOf(answer: IncomingMessage, maxBytes: number): Response {
  const status = answer.statusCode ?? 0;
  if (status > 599) {
    answer.destroy();
    throw new ClearedError("TOOL_ANSWER", `The server answered with HTTP ${status}, which is not a valid status.`);
  }
  const headers = new Headers();
  for (let i = 0; i < answer.rawHeaders.length; i += 2) {
    const [name, value] = [answer.rawHeaders[i] ?? "", answer.rawHeaders[i + 1] ?? ""];
    headers.append(name, value);
  }
  const empty = status < 200 || status === 204 || status === 205 || status === 304;
  if (empty) {
    answer.resume();
    return new Response(null, { status: Math.max(status, 200), headers });
  }
  let seen = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      seen += chunk.length;
      done(seen > maxBytes ? tooLong(maxBytes) : null, chunk);
    },
  });
  answer.on("error", (error) => counted.destroy(error));
  counted.on("close", () => answer.destroy());
  return new Response(Readable.toWeb(answer.pipe(counted)) as unknown as ReadableStream<Uint8Array>, { status, headers });
}

export function tooLong(maxBytes: number): ClearedError {
  return new ClearedError(
    "TOOL_ANSWER",
    `The server's answer is longer than ${maxBytes / 1024 / 1024} MiB. Ask for less, or page by page.`,
  );
}
