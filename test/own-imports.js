/**
 * Vitest tells its main process of each import, 400 in most files, for what only its watching uses, and gives a test file another name in each
 * run, under which no cache has it. Ours are looked up before it hears of them. Plain JavaScript, as each-file.js: to load the
 * stripper of types costs every file 0.1 s.
 */
import { registerHooks } from "node:module";

const root = new URL("../", import.meta.url).href;
const modules = `${root}node_modules/`;

registerHooks({
  resolve(specifier, context, next) {
    const file = /^(file:.*\.test\.ts)%3Fvitest=\d+$/.exec(specifier)?.[1];
    if (file !== undefined) return { url: file, format: "module-typescript", shortCircuit: true };
    const parent = context.parentURL ?? "";
    const isOurs = specifier.startsWith(".") && specifier.endsWith(".ts") && parent.startsWith(root) && !parent.startsWith(modules);
    if (!isOurs) return next(specifier, context);
    return { url: new URL(specifier, parent).href, format: "module-typescript", shortCircuit: true };
  },
});
