/**
 * Loaded into the project's Node 26 before anything else (--import): compile cache, short resolution of our files, and an end with the launcher.
 * The launcher holds the other end of a pipe. When it closes, the launcher has died for whatever reason; without this, an
 * interrupted `npm start` would leave an unnoticed server behind.
 */
import { enableCompileCache, registerHooks } from "node:module";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const GRACE_MS = 15_000;
const SETTLE_MS = 200;

enableCompileCache(join(dirname(dirname(fileURLToPath(import.meta.url))), "node_modules", ".cache", "compile"));

// Our own files and zod's import each other by real paths, Node's modules have no path, and a package found for one of our files is
// the same for all of them: resolving them again would cost 50 ms of CPU in every process.
// zod would also load its messages in 60 languages, of which we use one.
const root = new URL("../", import.meta.url).href;
const modulesUrl = `${root}node_modules/`;
const zod = `${modulesUrl}zod/`;
const packages = new Map();
registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? "";
    if (!parent.startsWith(root)) return next(specifier, context);
    if (specifier.startsWith("node:")) return { url: specifier, format: "builtin", shortCircuit: true };
    if (parent.startsWith(zod) && specifier.startsWith(".") && specifier.endsWith(".js")) {
      const url = beside(parent, specifier === "../locales/index.js" ? "../locales/en.js" : specifier);
      return { url, format: "module", shortCircuit: true };
    }
    if (parent.startsWith(modulesUrl)) return next(specifier, context);
    if (specifier.startsWith(".") && specifier.endsWith(".ts"))
      return { url: beside(parent, specifier), format: "module-typescript", shortCircuit: true };
    // A plugin of a workspace in this folder resolves its own packages.
    if (!/^(?:runtime|primitives)\//.test(parent.slice(root.length)) || !/^@?[a-z][^:]*$/.test(specifier)) return next(specifier, context);
    // The exports of a package may depend on whether it is imported or required.
    const key = `${context.conditions} ${specifier}`;
    if (!packages.has(key)) packages.set(key, { ...next(specifier, context), shortCircuit: true });
    return packages.get(key);
  },
});

/** The file at a relative path from another one; same result as `new URL`, in half the time. */
function beside(parent, path) {
  let [folder, rest] = [parent.lastIndexOf("/"), path.startsWith("./") ? path.slice(2) : path];
  for (; rest.startsWith("../"); rest = rest.slice(3)) folder = parent.lastIndexOf("/", folder - 1);
  return `${parent.slice(0, folder)}/${rest}`;
}

const fd = process.env.CLEARED_FOLLOW;
// Not inherited: a grandchild has no such pipe, and its file descriptor 3 is something else.
delete process.env.CLEARED_FOLLOW;
if (fd !== undefined) followLauncher(Number(fd));

function followLauncher(pipeFd) {
  const pipe = new Socket({ fd: pipeFd, readable: true, writable: false });
  let interrupted = false;
  // A listener of our own would disable the default end on SIGINT, so it is only added beside a listener of the program.
  process.on("newListener", function watch(name) {
    if (name !== "SIGINT") return;
    process.off("newListener", watch);
    process.on("SIGINT", () => {
      interrupted = true;
    });
  });
  const stop = () => process.kill(process.pid, "SIGTERM");
  pipe.on("data", () => {
    // Ctrl-C reaches the whole group, so our own SIGINT is here or on its way, and the program is already ending.
    setTimeout(() => interrupted || stop(), SETTLE_MS).unref();
  });
  pipe.on("error", () => undefined); // an error closes it, and the close is what counts
  pipe.on("close", () => {
    stop();
    setTimeout(() => process.exit(1), GRACE_MS).unref();
  });
  pipe.unref();
}
