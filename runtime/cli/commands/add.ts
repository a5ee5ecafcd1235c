/**
 * `cleared add NAME...`: copies processes that come with Cleared into the work tree, with everything they call. What their tools need in
 * trust.yaml is printed for a person to add: nothing here writes that file. Without a name it lists them.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { parseHeader } from "../../scripts/header.ts";
import { parseTrust } from "../../workspace/settings/config.ts";
import { TRUST, agentFile } from "../../workspace/layout.ts";
import { partsOf, starterAgents } from "../../workspace/init.ts";
import { makePlainFolder, plainFolder, readIfThere } from "../../workspace/own-folders.ts";
import type { Command } from "../invocation.ts";
import { PRODUCT } from "./init.ts";

export const run: Command = async ({ output, dir }, names) => {
  const read = (path: string) => readFileSync(join(PRODUCT, path), "utf8");
  if (names.length === 0) {
    const all = starterAgents(PRODUCT).map((name) => {
      const { name: title, description } = parseHeader(read(agentFile(name)), agentFile(name));
      return { name, title, description, here: existsSync(join(dir, agentFile(name))) };
    });
    output.result(all);
    output.rows(all.map((one) => [output.bold(one.name), one.here ? output.green("here") : "", one.description]));
    return 0;
  }
  const { files, tools } = partsOf(PRODUCT, names);
  const here = (path: string) => readIfThere(join(dir, path));
  const other = files.filter((path) => here(path) !== null && here(path) !== read(path));
  const clash = other.find((path) => names.some((name) => path === agentFile(name)));
  if (clash !== undefined)
    throw new ClearedError("FILE_INVALID", `${clash} already exists, and differs from the one that Cleared brings. Rename yours first.`, {
      at: { file: clash },
    });
  const written = files.filter((path) => here(path) === null);
  for (const path of written) plainFolder(dir, dirname(path));
  for (const path of written) {
    makePlainFolder(dir, dirname(path));
    writeFileSync(join(dir, path), read(path), { flag: "wx" });
  }
  const specs = specsFor(tools, here(TRUST) ?? "");
  output.result({ written, kept: other, tools, trust: specs });
  for (const path of written) output.line(path);
  for (const path of other)
    output.line(output.yellow(`${path} is yours and was left as it is: make sure that it does what ${names.join(", ")} expects`));
  if (tools.length > 0) output.line(`Calls ${tools.join(", ")}`);
  if (specs.length > 0) output.text(`Add to ${TRUST} yourself, for the tools that change something:\n${specs.join("\n")}`);
  if (written.length === 0) output.line(`${names.join(", ")}: every file is here already, nothing was added.`);
  else output.line(`Then \`cleared check\`, and commit them, or \`cleared propose -m "Add ${names.join(", ")}"\`.`);
};

/** Lines for trust.yaml for those tools that write and are not in it yet, as the demo business declares them. */
function specsFor(tools: readonly string[], trust: string): string[] {
  const { mcp } = parseTrust(trust);
  const lines = readFileSync(join(PRODUCT, "examples/erp/mcp.yaml"), "utf8").split("\n");
  const servers = [...new Set(tools.map((tool) => tool.split("/")[0] ?? ""))];
  const found = servers.map((server) => {
    const missing = tools.filter((tool) => tool.startsWith(`${server}/`)).map((tool) => tool.slice(server.length + 1));
    const known = mcp[server]?.tools ?? {};
    return [
      server,
      lines.filter((line) => missing.some((name) => !Object.hasOwn(known, name) && line.startsWith(`      ${name}: {`))),
    ] as const;
  });
  const open = found.filter(([, specs]) => specs.length > 0);
  if (open.length === 0) return [];
  return ["mcp:", ...open.flatMap(([server, specs]) => [`  ${server}: # beside its command: or url:`, "    tools:", ...specs])];
}
