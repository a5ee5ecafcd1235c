import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { primitives } from "../../primitives/index.ts";
import type { WorkspaceView } from "../../runtime/kernel/ports.ts";
import { callPrimitive, type StepContext } from "../../runtime/kernel/primitive.ts";
import { commit, memoryWorkspace, type Workspace } from "./books-bench.ts";

let workspace: Workspace;
let view: WorkspaceView;
beforeEach(async () => {
  workspace = memoryWorkspace();
  view = await workspace.view();
});
afterEach(() => workspace.dispose());

describe("data files", () => {
  test("are read back within the run and committed", async () => {
    expect(await view.ports.files.read("data/a.json")).toBe(null);
    await view.ports.files.write("data/a.json", "{}\n");
    expect(await view.ports.files.read("data/a.json")).toBe("{}\n");
    await commit(view);
    await view.ports.files.write("data/a.json", "[]\n");
    await commit(view);
    expect(workspace.files.get("data/a.json")).toBe("[]\n");
  });

  test("that somebody else changed meanwhile are not overwritten", async () => {
    await view.ports.files.write("data/a.json", "1\n");
    workspace.files.set("data/a.json", "2\n");
    await expect(commit(view)).rejects.toMatchObject({ code: "WORKSPACE_CONFLICT" });
  });

  test.each([
    "data/../config.yaml",
    "config.yaml",
    "/etc/passwd",
    "data/",
    "data//x",
    "data/.git/x",
    "data/a\\b",
    "data/a\0",
    "data/x.",
    "data/ü",
    "data/link/x",
    "data/folder",
  ])("refuse the path %j", async (path) => {
    mkdirSync(join(workspace.dir, "data/folder"), { recursive: true });
    symlinkSync("/etc", join(workspace.dir, "data/link"));
    writeFileSync(join(workspace.dir, "data/ok"), "");
    await expect(view.ports.files.write(path, "x")).rejects.toMatchObject({ code: "FILE_INVALID" });
    await expect(view.ports.files.read(path)).rejects.toMatchObject({ code: "FILE_INVALID" });
  });

  test.each(["data/run.PY", "data/a/package.json", "data/x.mjs"])("do not write %j, which a tool server could run", async (path) => {
    await expect(view.ports.files.write(path, "x")).rejects.toMatchObject({
      code: "FILE_INVALID",
      message: expect.stringContaining(".txt"),
    });
    expect(await view.ports.files.read(path)).toBeNull();
  });

  test("over 1 MiB and binary ones are refused", async () => {
    await expect(view.ports.files.write("data/a", "x".repeat(1024 * 1024 + 1))).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
    await expect(view.ports.files.write("data/a", "\ud800")).rejects.toMatchObject({ code: "FILE_INVALID" });
  });
});
test("data_write and data_read use paths below data/ as documented", async () => {
  const ctx = { ports: view.ports, run: { id: "run_1", agent: "a", mode: "live" } } as unknown as StepContext;
  const call = (name: string, params: object) => callPrimitive(primitives.find((one) => one.name === name)!, params as never, ctx);
  expect(await call("data_write", { path: "vendors/a.json", text: "{}" })).toEqual({ path: "vendors/a.json", bytes: 2 });
  expect(await call("data_read", { path: "data/vendors/a.json" })).toEqual({ found: true, text: "{}" });
  await commit(view);
  expect(workspace.files.get("data/vendors/a.json")).toBe("{}");
});
