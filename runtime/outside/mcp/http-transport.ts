/** MCP over streamable HTTP: headers, client credentials, and word of an answer that broke off, which the SDK keeps to itself. */
import type { AsyncLocalStorage } from "node:async_hooks";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ToolServer } from "../../workspace/settings/config.ts";
import type { Fetch } from "./addresses.ts";

/** What a request made in this context is told. */
export interface RequestContext {
  /** The HTTP answer has ended, with what broke it. */
  ended(error?: unknown): void;
  /** It is about to be sent, which may have waited for credentials; may throw. */
  leaving: (() => void) | undefined;
}

export function createHttpTransport(
  spec: Pick<ToolServer, "url" | "headers" | "oauth">,
  fetch: Fetch,
  context: AsyncLocalStorage<RequestContext>,
): Transport {
  const url = new URL(spec.url ?? "");
  const transport = new StreamableHTTPClientTransport(url, {
    ...(spec.oauth === undefined ? {} : { authProvider: credentials(url, spec.oauth) }),
    fetch: async (target, init) => {
      const headers = new Headers(init?.headers);
      // Never to the server that issues tokens, which may be somebody else's.
      if (new URL(target).origin === url.origin) for (const [name, value] of Object.entries(spec.headers)) headers.set(name, value);
      const told = init?.method === "POST" ? context.getStore() : undefined;
      told?.leaving?.();
      const answer = await fetch(target, { ...init, headers });
      const ended = told?.ended;
      if (ended === undefined || answer.body === null || !answer.headers.get("content-type")?.includes("text/event-stream")) return answer;
      const [body, watched] = [new TransformStream<Uint8Array, Uint8Array>(), answer.body];
      watched.pipeTo(body.writable).then(() => ended(), ended);
      return new Response(body.readable, { status: answer.status, headers: answer.headers });
    },
  });
  return transport as Transport;
}

/** Client credentials are only ever presented to the issuer that is named: the server cannot redirect them to another. */
function credentials(url: URL, oauth: NonNullable<ToolServer["oauth"]>): ClientCredentialsProvider {
  const { client_id: clientId, client_secret: clientSecret, scope, token_url } = oauth;
  const issuer = oauth.issuer ?? new URL(token_url ?? url).origin;
  const provider = new ClientCredentialsProvider({
    clientId,
    clientSecret,
    expectedIssuer: issuer,
    ...(scope === undefined ? {} : { scope }),
  });
  if (token_url === undefined) return provider;
  const authorizationServerMetadata = {
    issuer,
    token_endpoint: token_url,
    authorization_endpoint: token_url,
    response_types_supported: [],
  };
  return Object.assign(provider, { discoveryState: () => ({ authorizationServerUrl: issuer, authorizationServerMetadata }) });
}
