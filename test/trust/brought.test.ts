/** A key and secrets that came with a folder are known to its maker: neither is taken for this user's own. */
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { keyFile } from "../../runtime/workspace/own-folders.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";
import { cleared, shell, warmUp, workspace } from "../cli/command-line.ts";

beforeAll(warmUp);

const keyOf = (dir: string): string => keyFile(parseTrust(readFileSync(join(dir, "trust.yaml"), "utf8")).people[0]?.key ?? "");

/** A workspace that Mallory made under a state folder of her own, with her key and her secrets in it, as it arrives here. */
async function arrived(): Promise<string> {
  const dir = `${await workspace()}-theirs`;
  const theirs = `XDG_STATE_HOME='${dir}-state'`;
  await shell(join(dir, ".."), `${theirs} cleared init '${dir}' --name Theirs --person Mallory`);
  await shell(dir, `echo malicious-secret | ${theirs} cleared secrets set door; cp '${dir}'-state/cleared/keys/*.pem .cleared/person.key`);
  cpSync(dir, `${dir}-here`, { recursive: true });
  return `${dir}-here`;
}

test("a private key in a workspace that arrives is nobody's here, and stays so after the confirmation", async () => {
  const dir = await arrived();
  const first = await cleared(dir, "trust", "--accept-trust");
  expect(first.stdout).toMatch(/brings a private key, which its maker has, too: \.cleared\/person\.key is not used/);
  expect(first.stdout).not.toMatch(/\(yours\)|The key of Mallory/);
  const again = await cleared(dir, "trust");
  expect(again.stdout).not.toMatch(/\(yours\)|The key of Mallory/);
  expect([existsSync(join(dir, ".cleared/person.key")), existsSync(keyOf(dir))]).toEqual([false, false]);
  expect((await cleared(dir, "doctor")).stdout).not.toContain("your key");
  expect((await cleared(dir, "pair")).code).not.toBe(0);
});

test("the key of an older version is moved out of a workspace that was confirmed here before, and used only then", async () => {
  const dir = await workspace();
  const kept = keyOf(dir);
  await shell(dir, `mv '${kept}' .cleared/person.key`);
  expect((await cleared(dir, "doctor")).stdout).toMatch(/!! +your key +\.cleared\/person\.key is not used: `cleared trust` moves it/);
  expect((await cleared(dir, "trust")).stdout).toMatch(/^The key of Ada was in \.cleared\/person\.key and is in .*\.pem now\.$/m);
  expect(existsSync(kept)).toBe(true);
  expect((await cleared(dir, "doctor")).stdout).toMatch(/ok +your key +Ada/);
});

test("secrets that came with a folder, or were exchanged, are named and used only after a confirmation; one's own need none", async () => {
  const dir = await arrived();
  const refused = { code: 2, stderr: expect.stringMatching(/SECRET_MISSING\n.*came with this folder.*`cleared trust`/) };
  expect(await cleared(dir, "secrets", "list")).toMatchObject(refused);
  // What they know is not mixed with what is added here.
  expect(await shell(dir, "echo my-own-secret | cleared secrets set mine")).toMatchObject(refused);
  const asks = /brings stored secrets, whose values its maker knows: door\. If you did not store them/;
  expect((await cleared(dir, "trust", "--accept-trust")).stdout).toMatch(asks);
  expect((await cleared(dir, "secrets", "list")).stdout).toBe("door\n");

  const one = await workspace();
  for (const name of ["first", "second"])
    await shell(one, `echo my-own-secret | cleared secrets set ${name}; cp .cleared/secrets.age '${one}-${name}'`);
  expect((await cleared(one, "secrets", "list")).stdout).toBe("first\nsecond\n");
  expect((await cleared(one, "trust")).stdout).toMatch(/^This is what a person has confirmed here\.$/m);
  // Another's, or those of a backup, which may hold what was replaced since.
  for (const other of [`'${dir}'/.cleared/secrets.*`, `'${one}-first'`]) {
    const back = await shell(
      one,
      `cp ${other} .cleared/; [ ! -f .cleared/*-first ] || mv .cleared/*-first .cleared/secrets.age; cleared secrets list`,
    );
    expect(back).toMatchObject(refused);
  }
});

test("the launcher of a folder that arrives is named if it is not this Cleared's, and refused if the repository tracks it", async () => {
  const dir = await arrived();
  expect((await cleared(dir, "trust", "--accept-trust")).stdout).not.toContain("./cleared");
  await shell(dir, "rm -r .cleared; echo 'echo pwned' >cleared; echo >cleared.bat");
  const named = (await cleared(dir, "trust", "--accept-trust")).stdout;
  for (const file of ["cleared", "cleared.bat"]) expect(named).toContain(`brings ./${file}, which does not start this Cleared`);
  await shell(dir, "git add -f cleared cleared.bat");
  for (const command of ["trust", "doctor", "run ingest"])
    expect(await cleared(dir, ...command.split(" "))).toMatchObject({
      stderr: expect.stringMatching(/FOLDER_UNSAFE\n.*contains cleared, a program of whoever/),
    });
  await shell(dir, "git rm -q --cached cleared cleared.bat; mkdir data; echo >data/cleared.csv; git add data");
  expect((await cleared(dir, "doctor")).stderr).not.toContain("FOLDER_UNSAFE");
});
