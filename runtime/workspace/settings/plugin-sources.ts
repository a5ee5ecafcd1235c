/** `plugins:` of trust.yaml: files of the workspace, and exact versions of packages in its node_modules. */
import { z } from "zod";

const WANTED =
  "write a .ts or .js file inside the workspace, such as plugins/bank.ts, or an exact package, such as {package: cleared-bank, version: 1.2.3}";

export const pluginsSchema = z.array(
  z.union(
    [
      z.string().refine(isLocalFile, WANTED),
      z.strictObject({
        package: z.string().regex(/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/, "write a package's name"),
        version: z.string().regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/, "write an exact version such as 1.2.3"),
      }),
    ],
    { error: WANTED },
  ),
  { error: "write a list of files and packages" },
);

function isLocalFile(path: string): boolean {
  return (
    /^[^/\\:][^\\:]*\.(?:ts|js|mjs)$/.test(path) &&
    !path.split("/").some((part) => part === ".." || part === "" || part === "." || part === ".git")
  );
}
