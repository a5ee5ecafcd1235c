/** `cleared reindex`: closed runs that git has below refs/cleared/runs/ and the store does not know are listed again. */
import { withApi } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import type { Invocation } from "../commands.ts";

export async function run(at: Invocation): Promise<number> {
  const { runs } = await withApi(findWorkspace(at.dir), (api) => api.reindex({}));
  at.output.result({ runs });
  at.output.line(
    runs === 0
      ? "Every run that git knows is listed already."
      : `${runs} ${runs === 1 ? "run" : "runs"} that this store did not know ${runs === 1 ? "is" : "are"} listed now.`,
  );
  return 0;
}
