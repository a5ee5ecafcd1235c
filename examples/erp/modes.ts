/** How the server misbehaves, so that its callers can be tested. Off unless `--mode` or the unlisted tool `set_mode` says so. */
import { Refused } from "./business.ts";

export interface Modes {
  /** Milliseconds every answer waits; the work is done at once. */
  slow: number;
  /** Every n-th call fails before it does anything; 0 is never. */
  failing: number;
  /** `query_records` knows some columns by another name. */
  drifted: boolean;
  /** A page after the first begins with the last row of the one before. */
  duplicating: boolean;
  /** The process ends after a write, before its answer. */
  dying: boolean;
  /** Writes answer as if they had happened. */
  lying: boolean;
  /** Writes happen, and answer that they failed. */
  erring: boolean;
  /** Calls answer a page of HTML. */
  html: boolean;
  /** Calls seen so far. */
  calls: number;
}

/** `slow=200,failing=3,lying`; an empty text is a server that behaves. @throws Refused */
export function parseModes(list: string): Modes {
  const modes: Modes = {
    slow: 0,
    failing: 0,
    drifted: false,
    duplicating: false,
    dying: false,
    lying: false,
    erring: false,
    html: false,
    calls: 0,
  };
  for (const part of list.split(",").filter((each) => each !== "")) {
    const [name = "", value] = part.split("=");
    if (name === "slow" || name === "failing") modes[name] = number(part, value ?? (name === "slow" ? "500" : "2"));
    else if (name === "drifted" || name === "duplicating" || name === "dying" || name === "lying" || name === "erring" || name === "html")
      modes[name] = true;
    else throw new Refused(`no mode ${name}: drifted, slow=MS, failing=N, duplicating, dying, lying, erring, html`);
  }
  return modes;
}

/** True when this call is the n-th that fails. */
export function failsNow(modes: Modes): boolean {
  modes.calls++;
  return modes.failing > 0 && modes.calls % modes.failing === 0;
}

function number(part: string, value: string): number {
  if (!/^\d{1,6}$/.test(value)) throw new Refused(`${part}: the value is a whole number`);
  return Number(value);
}
