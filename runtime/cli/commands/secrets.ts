/** `cleared secrets set|list|remove`: values of secret:NAME in trust.yaml, read from a hidden prompt or standard input, never printed. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { STATE } from "../../workspace/layout.ts";
import { openSecrets } from "../../workspace/settings/secrets.ts";
import type { Command } from "../invocation.ts";
import { hidden, piped } from "../terminal.ts";

export const run: Command = async ({ output, dir }, [verb, name]) => {
  const secrets = openSecrets(dir);
  if (verb === "list") {
    const names = await secrets.names();
    output.result(names);
    for (const one of names) output.line(one);
    if (names.length === 0) output.line("No secrets. Store one with `cleared secrets set NAME`.");
    return 0;
  }
  if ((verb !== "set" && verb !== "remove") || name === undefined)
    throw new ClearedError("USAGE", "Write `cleared secrets set NAME`, `cleared secrets list` or `cleared secrets remove NAME`.");
  if (verb === "set") {
    await mkdir(join(dir, STATE), { recursive: true, mode: 0o700 });
    await secrets.set(name, process.stdin.isTTY ? await hidden(`Value of ${name}: `) : await piped());
  } else if ((await secrets.names()).includes(name)) await secrets.remove(name);
  else throw new ClearedError("USAGE", `There is no secret "${name}" to remove; \`cleared secrets list\` shows them.`);
  output.result({ [verb]: name });
  output.line(verb === "set" ? `${name} is stored. Name it in trust.yaml as secret:${name}.` : `${name} is removed.`);
};
