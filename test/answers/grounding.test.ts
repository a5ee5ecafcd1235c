/** What a text says is only supported where the ground has it, in whatever digits or groups it is written. */
import { expect, test } from "vitest";
import { earnedConfidence, groundOf, ungrounded } from "../../runtime/rules/grounding.ts";

test("digits of another script are never supported", () => {
  const ground = groundOf("The total is 9400 for 12 rows.");
  expect(ungrounded("The total is ٩٤٠٠ for १२ rows, which is 9400.", ground)).toEqual(["٩٤٠٠", "१२"]);
});

test("groups of three separated by blanks are read as one number first, then as several", () => {
  expect(ungrounded("It is 9 400.", groundOf("9 rows and 400 more"))).toEqual(["9 400"]);
  expect(ungrounded("It is 9 400 and 12 of 7.", groundOf("9,400 in 12 of 7"))).toEqual([]);
  expect(ungrounded("It is 9 400.00", groundOf("10 9 400.00 3"))).toEqual([]);
  expect(ungrounded("Rows 12 5", groundOf("12 and 5"))).toEqual([]);
});

test("a class that people always change gets no confidence, and none applies below it", () => {
  const earned = Array.from({ length: 1000 }, (_, decided) => earnedConfidence({ decided, confirmed: 0 }));
  expect(earned.filter((one) => !Object.is(one, 0))).toEqual([]);
});
