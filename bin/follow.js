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

// Our own files and zod's name each other by their real paths: looking up what is known costs 40 ms of CPU in every process.
// zod would also load its messages in 60 languages, and we speak one.
const root = new URL("../", import.meta.url).href;
const modulesUrl = `${root}node_modules/`;
const zod = `${modulesUrl}zod/`;
registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? "";
    if (!specifier.startsWith(".") || !parent.startsWith(root)) return next(specifier, context);
    if (parent.startsWith(zod) && specifier.endsWith(".js")) {
      const url = new URL(specifier === "../locales/index.js" ? "../locales/en.js" : specifier, parent).href;
      return { url, format: "module", shortCircuit: true };
    }
    if (!specifier.endsWith(".ts") || parent.startsWith(modulesUrl)) return next(specifier, context);
    return { url: new URL(specifier, parent).href, format: "module-typescript", shortCircuit: true };
  },
});

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
