/** Run by archive.test.ts in a process of its own: owns the workspace, moves (or drops) histories, and is killed at a stage: "kept:2" is the second time. */
import { openHost } from "../../runtime/app/open-host.ts";
import { confirm } from "../confirm.ts";
import { dropClosed, packClosed } from "../../runtime/engine/store/packing.ts";

const [dir = "", what = "", at = ""] = process.argv.slice(2);
const [stage, count = "1"] = at.split(":");
confirm(dir);
const opened = await openHost(dir, { mode: "owner" });
let left = Number(count);
const packing = {
  ...opened.packing,
  reached: (reached: string) => {
    if (reached === stage && --left === 0) process.kill(process.pid, "SIGKILL");
  },
};
if (what === "pack") while ((await packClosed(packing, Number.MAX_SAFE_INTEGER)) > 0);
else await dropClosed(packing, Number.MAX_SAFE_INTEGER, new Set(what.split(",")));
await opened.close();
