/**
 * Whose key this shell holds: the file that CLEARED_KEY names, else .cleared/person.key. Nothing here proves more than that whoever runs
 * the command can read that file.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isSigned, signText } from "../engine/signature.ts";
import { ClearedError } from "../errors.ts";
import type { Trust } from "../workspace/config.ts";
import { KEY } from "../workspace/layout.ts";
import type { Person } from "../workspace/people.ts";

/** The person and their private key, PEM. @throws APPROVAL_IDENTITY */
export function holderHere(dir: string, { people }: Trust, by?: string): { person: Person; key: string } {
  const file = process.env["CLEARED_KEY"] ?? join(dir, KEY);
  const name = process.env["CLEARED_KEY"] ?? KEY;
  let key: string;
  try {
    key = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `There is no key in ${name}, so nobody can decide from here. \`cleared init\` makes one; its public half goes into trust.yaml under people.`,
      { cause },
    );
  }
  const person = people.find((one) => fits(key, one));
  if (person === undefined) throw new ClearedError("APPROVAL_IDENTITY", `The key in ${name} belongs to nobody in trust.yaml.`);
  if (by !== undefined && by !== person.name)
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `This workspace holds the key of ${person.name}, not of ${by}. --by only picks a person whose key is here; CLEARED_KEY names another key file.`,
    );
  return { person, key };
}

/** Who a run is started by: `{by}`, or nothing where no key lies here. */
export function starter(dir: string, trust: Trust): { by?: string } {
  try {
    return { by: holderHere(dir, trust).person.name };
  } catch (error) {
    if (error instanceof ClearedError && error.code === "APPROVAL_IDENTITY") return {};
    throw error;
  }
}

function fits(key: string, { name, key: half }: Person): boolean {
  try {
    return isSigned({ probe: name }, signText({ probe: name }, key), half);
  } catch {
    return false; // no private key at all
  }
}
