#!/usr/bin/env node
/** The command `cleared`: installs the packages if necessary, then runs the command line under the project's own Node 26. */
import { join } from "node:path";
import { endLike, prepare, ROOT, runNode } from "./launcher.js";

await prepare();
endLike(await runNode([join(ROOT, "runtime", "cli", "main.ts"), ...process.argv.slice(2)]));
