/** A conversation cut short loses words, and no figure, id, day or name. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isAssent, shortened, type Turn } from "../../runtime/rules/session-words.ts";

const user = (text: string): Turn => ({ role: "user", text });

test("twenty messages are kept whole; of more, the last six are, and earlier sentences without content are left out", () => {
  const turns = Array.from({ length: 20 }, (_, i) => user(`turn ${i}`));
  expect(shortened(turns)).toEqual({ earlier: "", turns });
  const all = [user("Hello there. Pay INV-7 of 52,340.00 by Friday! thanks a lot\nplease do"), ...turns];
  const { earlier, turns: last } = shortened(all);
  expect(last).toEqual(turns.slice(-6));
  expect(earlier.split("\n").slice(0, 2)).toEqual(["user: Pay INV-7 of 52,340.00 by Friday!", "user: turn 0"]);
  expect(earlier).not.toMatch(/Hello|thanks|please/);
});

test("every figure and id of a long conversation is kept", () => {
  const word = fc.oneof(
    fc.constantFrom("so", "well", "please", "the", "Then", "ok.", "see", "\n", "?"),
    fc.integer({ min: 1, max: 99_999 }).map((n) => `E-${n}`),
    fc.integer({ min: 1, max: 99_999 }).map((n) => `$${n}.${String(n % 100).padStart(2, "0")}`),
  );
  const turn = fc.array(word, { minLength: 1, maxLength: 30 }).map((words) => user(words.join(" ")));
  fc.assert(
    fc.property(fc.array(turn, { minLength: 21, maxLength: 40 }), (turns) => {
      const { earlier, turns: last } = shortened(turns);
      const left = `${earlier}\n${last.map(({ text }) => text).join("\n")}`;
      const said = turns.flatMap(({ text }) => text.match(/[$E][-\d][\d.]*\d|E-\d/g) ?? []);
      expect(said.filter((one) => !left.includes(one))).toEqual([]);
    }),
  );
});

test("an approval is distinguished from a request", () => {
  for (const text of ["Yes", "ok, go", "I approve", "we hereby approve this", "Approved by Ada", "go ahead"])
    expect(isAssent(text)).toBe(true);
  for (const text of ["Now revoke access", "approve INV-7", "Pay it", "okra is due", "I want to pay"]) expect(isAssent(text)).toBe(false);
});
