/**
 * Loaded into the project's Node 26 before anything else (--import): compile cache on, short ways to our files, and an end when the launcher ends.
 * The launcher holds the other end of a pipe. Its closing means the launcher died, whatever killed it; without this an
 * interrupted `npm start` would leave a server behind that nobody sees.
 */
import { enableCompileCache, registerHooks } from "node:module";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const GRACE_MS = 15_000;
const SETTLE_MS = 200;

enableCompileCache(join(dirname(dirname(fileURLToPath(import.meta.url))), "node_modules", ".cache", "compile"));

// Our own files and zod's name each other by their real paths, what Node brings has no path, and a package that one of our files has found is
// the same for all of them: looking up what is known costs 50 ms of CPU in every process.
// zod would also load its messages in 60 languages, and we speak one.
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
    // A plugin of a workspace in this folder finds its own packages.
    if (!/^(?:runtime|primitives)\//.test(parent.slice(root.length)) || !/^@?[a-z][^:]*$/.test(specifier)) return next(specifier, context);
    // What a package gives may depend on whether it is imported or required.
    const key = `${context.conditions} ${specifier}`;
    if (!packages.has(key)) packages.set(key, { ...next(specifier, context), shortCircuit: true });
    return packages.get(key);
  },
});

/** The file at a relative path from another one; as `new URL` has it, in half the time. */
function beside(parent, path) {
  let [folder, rest] = [parent.lastIndexOf("/"), path.startsWith("./") ? path.slice(2) : path];
  for (; rest.startsWith("../"); rest = rest.slice(3)) folder = parent.lastIndexOf("/", folder - 1);
  return `${parent.slice(0, folder)}/${rest}`;
}

const fd = process.env.CLEARED_FOLLOW;
// Not passed on: a grandchild has no such pipe, and its file descriptor 3 is something else.
delete process.env.CLEARED_FOLLOW;
if (fd !== undefined) followLauncher(Number(fd));

function followLauncher(pipeFd) {
  const pipe = new Socket({ fd: pipeFd, readable: true, writable: false });
  let interrupted = false;
  // A listener of our own would switch off the default end by SIGINT, so it only stands beside one of the program's.
  process.on("newListener", function watch(name) {
    if (name !== "SIGINT") return;
    process.off("newListener", watch);
    process.on("SIGINT", () => {
      interrupted = true;
    });
  });
  const stop = () => process.kill(process.pid, "SIGTERM");
  pipe.on("data", () => {
    // Ctrl-C reaches the whole group, so our own SIGINT is here or on its way: then one end is under way already.
    setTimeout(() => interrupted || stop(), SETTLE_MS).unref();
  });
  pipe.on("error", () => undefined); // an error closes it, and the close is what counts
  pipe.on("close", () => {
    stop();
    setTimeout(() => process.exit(1), GRACE_MS).unref();
  });
  pipe.unref();
}
