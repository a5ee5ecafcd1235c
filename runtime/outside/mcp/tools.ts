/**
 * The tools of a workspace for its runs: connections to the servers of trust.yaml and to an endpoint given to a run, opened on demand and kept
 * until the owner ends. runtime/tools decides what a call may do besides being sent; no secret comes back.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import type { Call, Json, Once, ToolInfo, Tools } from "../../kernel/ports.ts";
import { createKeyedTurns } from "../../kernel/turns.ts";
import { assertClass, classIn, classify } from "../../rules/tools/classify.ts";
import { findTools } from "../../rules/tools/find.ts";
import { fetchAll } from "../../rules/tools/pages.ts";
import { recoveredRead, standIn } from "../../rules/tools/recover.ts";
import { isObject } from "../../rules/tools/shape.ts";
import { withUndo } from "../../rules/tools/undo.ts";
import { happened, verifiedWrite, verifySpec } from "../../rules/tools/verify.ts";
import type { ToolServer, Trust } from "../../workspace/settings/config.ts";
import { type Resolve, createFetch } from "./addresses.ts";
import { ANSWER_BYTES, createRedactor } from "./answer.ts";
import { type Connection, later, type ListedTool, PROGRESS } from "./connection.ts";
import { GIVEN, UNDECLARED, createGiven } from "./given.ts";
import { connectPlain } from "./plain-http.ts";

export interface ToolsOptions {
  trust: Pick<Trust, "mcp" | "addresses">;
  /** The workspace; server commands start in it. */
  dir: string;
  /** As read by secrets.ts; called for each connection. @throws SECRET_MISSING */
  secrets(): Promise<(name: string) => string>;
  resolve?: Resolve;
  /** Called each time before a command is started. @throws TRUST_CHANGED if trust.yaml is not what a person has confirmed */
  mayStart?(): void;
  sent: Once;
}

export type ToolPool = ReturnType<typeof createTools>;

interface Server {
  connection: Connection;
  spec: typeof UNDECLARED;
}

/** A server's tools with their declarations in trust.yaml. */
interface Offer {
  infos: ToolInfo[];
  raw: Map<string, ListedTool>;
}

export function createTools({ trust, dir, secrets, resolve, mayStart, sent }: ToolsOptions) {
  const redactor = createRedactor();
  const { safe } = redactor;
  const servers = new Map<string, Server>();
  const offers = new WeakMap<ListedTool[], Offer>();
  const fetch = createFetch({ rules: null, maxBytes: ANSWER_BYTES, resolve });
  const quiet = new AbortController().signal;
  const inTurn = createKeyedTurns();

  const serverOf = (name: string): Server => {
    const spec = Object.hasOwn(trust.mcp, name) ? trust.mcp[name] : undefined;
    if (spec === undefined) throw unknownServer(name);
    return servers.getOrInsertComputed(name, () => ({ spec, connection: connectionTo(name, spec) }));
  };
  const unknownServer = (name: string) => {
    const names = Object.keys(trust.mcp);
    const there = names.length === 0 ? "It names none" : `It names ${names.join(", ")}`;
    const add = `${there}; add mcp: {${name}: {command: node, args: [SERVER.ts]}}, or url: for one over HTTP`;
    return new ClearedError("TOOL_UNKNOWN", `There is no tool server "${name}" in trust.yaml.${didYouMean(name, names)} ${add}.`);
  };

  const connectionTo = (name: string, spec: ToolServer): Connection => {
    const filled = async () => {
      if (spec.command !== undefined) mayStart?.();
      const { client_secret, ...oauth } = spec.oauth ?? { client_id: "", client_secret: "" };
      return {
        env: await fill(spec.env),
        headers: await fill(spec.headers),
        oauth: spec.oauth && { ...oauth, ...((await fill({ client_secret })) as { client_secret: string }) },
      };
    };
    if (spec.plain !== undefined) return connectPlain({ ...spec, name, url: spec.plain, filled, fetch });
    return later(async () => (await import("./client.ts")).connectMcp({ name, spec, filled, dir, fetch, issued: redactor.add }));
  };
  const fill = async (values: Record<string, string>): Promise<Record<string, string>> => {
    if (!Object.values(values).some((value) => value.includes("secret:"))) return values;
    const secret = await secrets();
    const put = (_: string, name: string): string => {
      redactor.add(name, secret(name));
      return secret(name);
    };
    return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, value.replace(SECRET, put)]));
  };

  const given = createGiven(createFetch({ rules: trust.addresses, maxBytes: ANSWER_BYTES, resolve }), dir);

  /** `given`: the address of an endpoint for this run only; its tools are `given/NAME`. `note` is called with what a list had to omit. */
  const forRun = (options: { run: string; given?: string | undefined; note?: (message: string) => void }): Tools => {
    const { run, given: url, note } = options;
    const server = async (name: string): Promise<Server> =>
      name === GIVEN && url !== undefined ? { connection: await given.connect(url, run), spec: UNDECLARED } : serverOf(name);
    const names = (): string[] => [...(url === undefined ? [] : [GIVEN]), ...Object.keys(trust.mcp)];

    const offer = async (name: string, abort = quiet): Promise<Offer> => {
      const { connection, spec } = await server(name);
      const listed = await connection.list({ run, abort });
      return offers.getOrInsertComputed(listed, () => offerOf(name, listed, spec));
    };
    const offerOf = (name: string, listed: ListedTool[], spec: Server["spec"]): Offer => ({
      raw: new Map(listed.map((one) => [one.name, one])),
      infos: listed.map((one) => {
        const { class: kind, why } =
          name === GIVEN ? classify(one.name, { annotations: one.annotations, trusted: false }) : classIn(spec, one.name, one.annotations);
        const [description, input_schema] = [redactor.text(one.description), redactor.json(one.input_schema)];
        return { tool: `${name}/${one.name}`, server: name, name: one.name, description, input_schema, class: kind, why };
      }),
    });

    const list = (only?: string): Promise<ToolInfo[]> =>
      safe(async () => {
        if (only !== undefined) return (await offer(only)).infos;
        const answers = await Promise.allSettled(names().map((name) => offer(name)));
        const failed = answers.filter((one) => one.status === "rejected").map((one) => one.reason as ClearedError);
        if (failed.length > 0 && failed.length === answers.length) throw failed[0] as ClearedError;
        for (const one of failed) note?.(`Tools left out: ${redactor.error(one).message}`);
        return answers.flatMap((one) => (one.status === "fulfilled" ? one.value.infos : []));
      });

    const get = async (tool: string, abort = quiet): Promise<ToolInfo> => {
      const [name] = split(tool);
      const infos = name === null ? [] : (await offer(name, abort)).infos;
      const found = infos.find((one) => one.tool === tool) ?? (name === null ? undefined : standIn(tool, infos, (await server(name)).spec));
      if (found !== undefined) {
        if (name !== GIVEN) assertClass((await server(found.server)).spec, found);
        return sameClass(found);
      }
      const there = (name === null ? await list() : infos).map((one) => one.tool);
      const near = didYouMean(tool, there) || didYouMean(`${name ?? there[0]?.split("/")[0]}/${tool}`, there);
      throw new ClearedError("TOOL_UNKNOWN", `There is no tool "${tool}".${near} mcp_list shows what is offered.`);
    };

    // The call uses the class that the engine has judged: a server gains nothing by changing its hints in between.
    const classes = new Map<string, ToolInfo["class"]>();
    const sameClass = (found: ToolInfo): ToolInfo => {
      const before = classes.get(found.tool) ?? found.class;
      classes.set(found.tool, before);
      if (before === found.class) return found;
      throw new ClearedError(
        "TOOL_REFUSED",
        `${found.tool} was ${before} when this run began to use it and is ${found.class} now. Start the run again.`,
      );
    };

    /** One call as sent: a known tool, valid arguments, at most once for a write. */
    const send = async (
      { tool, params }: Call,
      write: boolean,
      abort: AbortSignal,
      leaving?: () => void,
    ): Promise<{ result: Json; notes: string[] }> => {
      const { name, server: at, class: kind } = await get(tool, abort);
      if (kind === "mutate" && !write)
        throw new ClearedError("TOOL_REFUSED", `${tool} writes and would have been sent as a read. Nothing was sent.`);
      const { connection, spec } = await server(at);
      const { raw } = await offer(at, abort);
      const { schemaFault } = await import("./schema.ts");
      const wrong = isObject(params) ? schemaFault(raw.get(name)?.input_schema ?? null, params, spec.trusted) : "they are not an object";
      if (wrong !== null) throw new ClearedError("TOOL_ARGUMENTS", `${tool}: ${wrong}. Nothing was sent.`, { data: { tool } });
      try {
        const result = await connection.call(name, params as Record<string, Json>, { run, write, abort, leaving });
        const odd = oddity(() => schemaFault(raw.get(name)?.output_schema ?? null, result, spec.trusted));
        if (odd === null) return { result: redactor.json(result), notes: [] };
        const says = `${tool}: its answer is not what its schema promises: ${odd}`;
        if (!write) throw new ClearedError("TOOL_ANSWER", says);
        return { result: redactor.json(result), notes: [says] };
      } catch (error) {
        if (error instanceof ClearedError && error.code === "TOOL_FAILED" && GONE.test(error.message)) {
          connection.forget();
          // What happened to a write is in its own answer, whatever the list says now.
          if (!write) await get(tool, abort);
        }
        // Here and not only at the end, because a failure may become a recorded result.
        throw error instanceof ClearedError ? redactor.error(error) : error;
      }
    };
    const reader = (abort: AbortSignal) => async (call: Call) => (await send(call, false, abort)).result;

    const read = async (call: Call, abort: AbortSignal) => {
      const name = split(call.tool)[0] ?? "";
      const [{ spec }, { infos: listed }] = [await server(name), await offer(name, abort)];
      return recoveredRead({ call, listed, spec, read: reader(abort) });
    };

    /** Of a write, as trust.yaml declares it and by itself: under another declaration its server may be another one, or not know its key. */
    const asDeclared = ({ server: at, name }: ToolInfo, key: string): [declared: string, write: string] => {
      const { tools = {}, ...its }: Partial<ToolServer> = (Object.hasOwn(trust.mcp, at) ? trust.mcp[at] : undefined) ?? { url };
      return [`as ${key} ${canonicalJson([its, Object.hasOwn(tools, name) ? tools[name] : null])}`, `as ${key}`];
    };

    const declaredFor = async (info: ToolInfo, abort: AbortSignal) => {
      const { tools } = (await server(info.server)).spec;
      const declared = Object.hasOwn(tools, info.name) ? tools[info.name] : undefined;
      return { declared, spec: verifySpec(info, declared?.verify, (await offer(info.server, abort)).infos) };
    };

    return {
      list,
      undoable: async (write) => withUndo(trust.mcp, write),
      find: async (wish, limit) => findTools(await list(), wish, limit),
      get: (tool) => safe(() => get(tool)),
      call: (call, { key, abort, leaving, writes = [], seen, inDoubt = false }) =>
        safe(async () => {
          const info = await get(call.tool, abort);
          if (info.class !== "mutate") {
            const { answer, notes } = await read(call, abort);
            return { result: answer, write: null, notes };
          }
          const { declared, spec } = await declaredFor(info, abort);
          let notes: string[] = [];
          const record = spec?.key(isObject(call.params) ? call.params : {}, null) ?? key;
          // Another run may be writing the same record: its state before this write is read once that write is over.
          const { answer, write } = await inTurn(canonicalJson([spec?.read ?? null, record]), () =>
            verifiedWrite({
              call,
              spec,
              earlier: writes,
              seen,
              inDoubt,
              read: reader(abort),
              write: async () => {
                const asked = { tool: call.tool, params: withKey(call.params, declared?.idempotency_key, key) };
                for (const one of asDeclared(info, key)) sent.keep(one);
                const done = await send(asked, true, abort, leaving);
                notes = done.notes;
                return done.result;
              },
            }),
          );
          return { result: answer, write: withUndo(trust.mcp, write), notes };
        }),
      fetchAll: (call, { where, abort }) =>
        safe(async () => {
          const { input_schema: schema } = await get(call.tool, abort);
          const told = new Set<string>();
          const step = async (params: Record<string, Json>) => {
            const { answer, notes } = await read({ ...call, params }, abort);
            for (const one of notes) if (told.size < told.add(one).size) note?.(one);
            return answer;
          };
          return fetchAll(call, { schema, where, step });
        }),
      readBack: (call, { key, abort }) =>
        safe(async () => {
          const info = await get(call.tool, abort);
          const [asNow, wasSent] = asDeclared(info, key);
          if (sent.has(wasSent) && !sent.has(asNow)) return null;
          const { declared, spec } = await declaredFor(info, abort);
          const seen = await happened(call, spec, reader(abort));
          // A command ends with whoever started it.
          const { timeout_ms } = (await server(info.server)).spec;
          const withinMs = trust.mcp[info.server]?.command === undefined ? timeout_ms * PROGRESS : 0;
          if (seen !== true && declared?.idempotency_key !== undefined) return { happened: false, harmless: true, withinMs };
          return seen === null ? null : { happened: seen, withinMs };
        }),
    };
  };

  return {
    forRun,
    /** Ends every server that was started. */
    close: async (): Promise<void> => {
      await Promise.allSettled([given.close(), ...[...servers.values()].map(({ connection }) => connection.close())]);
      servers.clear();
    },
  };
}

const SECRET = /secret:([A-Za-z][A-Za-z0-9_-]*)/g;
// How servers say that they do not know a tool; it may have been renamed since it was listed.
const GONE = /unknown|not found|no such|not exist|not available|disabled|method/i;

function split(tool: string): [server: string | null, name: string] {
  const at = tool.indexOf("/");
  return at === -1 ? [null, tool] : [tool.slice(0, at), tool.slice(at + 1)];
}

/** What is wrong with an answer. An invalid schema counts too: the call was made, and is not undone by it. */
function oddity(fault: () => string | null): string | null {
  try {
    return fault();
  } catch (error) {
    return (error as Error).message;
  }
}

/** The run's key in the parameter by which the tool deduplicates; a key given by the script stays, because it was approved. */
function withKey(params: Json, parameter: string | undefined, key: string): Json {
  if (parameter === undefined || !isObject(params)) return params;
  return Object.hasOwn(params, parameter) ? params : { ...params, [parameter]: key };
}
