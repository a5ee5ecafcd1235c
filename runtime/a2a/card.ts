/** The agent card: who serves here, how to connect, and one skill for each agent with trigger: a2a. Read by clients of every generation. */
import type { Offer } from "../app/task-intake.ts";
import type { Json } from "../kernel/ports.ts";
import { VERSION } from "../kernel/version.ts";
import type { Fields } from "../rules/tools/shape.ts";

/** More skills have broken clients; the extended card has all. */
const SKILLS = 40;
const MODES = ["text/plain", "application/json"];

export interface CardFacts {
  business: string;
  offers: readonly Offer[];
  /** `http://127.0.0.1:4310`, the address by which the caller has connected. */
  url: string;
}

/** `version`: requested by the reader. Without one it gets the fields of both 0.3 and 1.0, because readers of 0.3 send no version. */
export function cardOf({ business, offers, url }: CardFacts, version: "1.0" | "0.3", extended = false): Fields {
  const skills = offers.slice(0, extended ? offers.length : SKILLS).map(skillOf);
  const root = `${url}/`;
  const card: Fields = {
    name: business,
    description: `Business processes of ${business}, each carried out by a script under its policy; a person approves what the policy does not.`,
    supportedInterfaces: [
      { url: root, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      { url: root, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    ],
    version: VERSION,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills,
  };
  if (version === "1.0") return card;
  return {
    ...card,
    url: root,
    preferredTransport: "JSONRPC",
    protocolVersion: "0.3.0",
    additionalInterfaces: [{ url: root, transport: "JSONRPC" }],
    supportsAuthenticatedExtendedCard: true,
  };
}

function skillOf({ name, header }: Offer): Json {
  return {
    id: name,
    name: header.name,
    description: header.description === "" ? header.name : header.description,
    tags: [header.process ?? name, ...(header.mutates === false ? ["read-only"] : [])],
    examples: header.examples.slice(0, 3).map((one) => JSON.stringify(one)),
    inputModes: MODES,
    outputModes: MODES,
  };
}
