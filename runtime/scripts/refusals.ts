/**
 * What a condition of a script that is followed (follow.ts) says of its gates. Nobody changes what nobody approved: where a gate was refused,
 * or its calls were not made, the planned values are right, and afterwards only the other way counts.
 */
import { type Refused, type Value, type Values, waysOf } from "./values.ts";

/** In these of a gate's answers are the calls as approved. */
const CALLS = /^(?:calls|made)$/;
/** Fields of which any value says that nothing was called: the reason for a no, and that a day has passed. */
const SAYS_NO = /^(?:no|passed)$/;
/** Whether nothing was changed where the decision is this one; what is not approved may be edited. */
const DECISIONS: Record<string, boolean> = { rejected: true, approved: true, edited: false };
/** `??` is for what stands after it. */
const NOTHING = /^(?:null|undefined|0|[?]{2})$/;

/** apart: follows a way with what it says of gates. */
export function refusalsOf({ gates, rootOf, choose }: Values, apart: <T>(refused: readonly number[], look: () => T) => T) {
  const has = (value: Value, name: RegExp): boolean =>
    (value.name !== undefined && name.test(value.name)) || (value.of !== undefined && has(value.of, name));

  /** When the gates were refused, if it is known. text: what the value is compared with; without it, its truth. */
  function refusedBy(value: Value, text?: string): Refused | undefined {
    if (text === undefined && value.refused !== undefined) return value.refused;
    const all = waysOf(value).filter((one) => rootOf(one).kind === "approved");
    const [one] = all;
    if (one === undefined) return undefined;
    const isNothing = NOTHING.test(text ?? "");
    const isCall = text === "??" ? has(one, CALLS) : one.name === "calls" || one.of?.name === "calls";
    const says = SAYS_NO.test(one.name ?? "") ? true : isCall ? false : undefined;
    const when =
      one.name === "decision"
        ? DECISIONS[text ?? ""]
        : says !== undefined && (text === undefined || isNothing)
          ? says !== isNothing
          : undefined;
    return when === undefined ? undefined : { when, gates: all.map((each) => rootOf(each).id) };
  }

  const way =
    <T>(isTaken: boolean, refused: Refused | undefined, look: () => T) =>
    (): T | null => {
      if (refused?.when !== isTaken) return look();
      const size = gates.size;
      const found = apart(refused.gates, look);
      return gates.size > size ? found : null;
    };

  /** Both ways of a condition; null for one that counts for nothing. */
  const both = <T>(refused: Refused | undefined, yes: () => T, no: () => T): T[] =>
    choose<T | null>([way(true, refused, yes), way(false, refused, no)]) as T[];

  /** What the comparison of two values says. */
  function compared(operator: string, left: Value, right: Value | undefined): Refused | undefined {
    if (operator === "!") return turned(refusedBy(left), true);
    if (right === undefined || !/^(?:[!=]==?|>)$/.test(operator)) return undefined;
    return turned(refusedBy(left, right.text ?? "") ?? refusedBy(right, left.text ?? ""), !operator.startsWith("="));
  }
  const turned = (refused: Refused | undefined, isTurned: boolean) => refused && { ...refused, when: refused.when !== isTurned };

  return { refusedBy, way, both, compared };
}

export type Refusals = ReturnType<typeof refusalsOf>;
