/** `cleared pair`: a one-time code that lets a browser decide as the person whose key this shell has; `--revoke` ends all pairings. */
import { withApi } from "../../app/connect.ts";
import { holderHere } from "../../app/identity.ts";
import { assertConfirmed, readLocal } from "../../app/local.ts";
import type { Command } from "../invocation.ts";
import { count } from "../../kernel/text.ts";
import { newPairing } from "../../app/sessions.ts";

export const run: Command = async ({ output, dir }, _, options) => {
  const local = readLocal(dir);
  assertConfirmed(local);
  const { name: by } = holderHere(dir, local.trust).person;
  if (options["revoke"] === true) {
    const ended = await withApi(dir, (api) => api.unpair({ by }));
    output.result({ by, ended });
    output.line(`${count(ended, "paired browser")} of ${by} can no longer decide.`);
    return 0;
  }
  const { code, ...kept } = newPairing(dir, local.trust, Date.now());
  await withApi(dir, (api) => api.pair(kept));
  const shown = (code.match(/.{4}/g) ?? []).join("-");
  output.result({ by, code: shown });
  output.line(`${output.bold(shown)}  enter it at /pair on the status page within 10 minutes; that browser then decides as ${by}.`);
};
