/** The tools as text: the table of README.md, and mcp.yaml, what a workspace trusts this server with. */
import { TOOLS } from "./calls.ts";
import { inputSchema, type Tool } from "./tool.ts";

/** Markdown; a parameter in brackets may be left out. */
export function printTools(): string {
  const rows = TOOLS.map((tool) => {
    const { properties, required } = inputSchema(tool);
    const names = Object.keys(properties).filter((name) => name !== "idempotency_key");
    const params = names.map((name) => (required.includes(name) ? name : `[${name}]`)).join(", ");
    return `| \`${tool.name}\` | ${tool.effect} | ${params} | ${tool.description} |`;
  });
  return `${["| tool | effect | parameters | does |", "|---|---|---|---|", ...rows].join("\n")}\n`;
}

/** The `mcp:` section of trust.yaml. Reading tools are classed by their annotation, so only writes are listed. */
export function printTrust(): string {
  const head = `# The demo business, for the mcp: section of trust.yaml. Written by \`node examples/erp/server.ts --trust\`.
mcp:
  erp:
    command: node
    args: [examples/erp/server.ts, --db, .cleared/erp.db]
    trusted: true # its readOnlyHint is believed
    timeout_ms: 20000
    tools:`;
  const writes = TOOLS.filter((tool) => tool.effect !== "read").map((tool) => `      ${tool.name}: ${flow(trusted(tool))}`);
  return `${[head, ...writes].join("\n")}\n`;
}

const trusted = ({ verify }: Tool): object => ({
  class: "mutate",
  idempotency_key: "idempotency_key",
  ...(verify && { verify: Object.fromEntries(Object.entries(verify).filter(([, part]) => Object.keys(part).length > 0)) }),
});

/** YAML in one line; every text here is a plain scalar but amounts and dates, which are quoted to stay text. */
function flow(value: unknown): string {
  if (typeof value !== "object" || value === null)
    return typeof value === "string" && !/^[$a-zA-Z_]\w*$/.test(value) ? JSON.stringify(value) : String(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([key, each]) => `${key}: ${flow(each)}`)
    .join(", ")}}`;
}
