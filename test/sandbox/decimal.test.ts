/** Powers, roots and numbers of Decimal: exact where there is an exact result, else to 60 digits; the same live, on replay and in a tool. */
import { afterAll, describe, expect, test } from "vitest";
import { createSandbox } from "../../runtime/sandbox/pool.ts";
import { runScript } from "./corpus.ts";

const sandbox = createSandbox({ slots: 1 });
afterAll(() => sandbox.close());

const ROWS: [string, string | number][] = [
  // 1,000.00 at 5 % for 10 years: 20 decimals, none lost.
  [`new Decimal("1000").times(new Decimal("1.05").pow(10))`, "1628.89462677744140625"],
  // bc: scale=70; 250000*(1+0.045/12)^360, a monthly rate over 30 years, rounded once, at the end.
  [`new Decimal("250000").times(new Decimal("0.045").div(12).plus(1).pow(360)).toFixed(2)`, "961924.51"],
  [`new Decimal("2").pow(-3)`, "0.125"],
  [`new Decimal("4").pow("0.5")`, "2"],
  [`new Decimal("2.25").pow("1.5")`, "3.375"],
  [`new Decimal("0").pow(0)`, "1"],
  [`new Decimal("-2").pow(3)`, "-8"],
  [`new Decimal("2").toPower(100)`, "1267650600228229401496703205376"],
  [`new Decimal("1.21").sqrt()`, "1.1"],
  [`new Decimal("0.0000000000000000000000000000000001").sqrt()`, "0.00000000000000001"],
  // bc: scale=70; sqrt(2), rounded to 60 digits.
  [`new Decimal(2).sqrt()`, "1.41421356237309504880168872420969807856967187537694807317668"],
  [`new Decimal(2).pow("0.5")`, "1.41421356237309504880168872420969807856967187537694807317668"],
  // bc -l: e(1), l(2).
  [`new Decimal(1).exp()`, "2.71828182845904523536028747135266249775724709369995957496697"],
  [`new Decimal(2).ln()`, "0.693147180559945309417232121458176568075500134360255254120680"],
  [`new Decimal(27).cbrt()`, "3"],
  [`new Decimal("1000").log(10)`, "3"],
  [`new Decimal("0.1").plus("0.2").toNumber()`, 0.3],
  [`new Decimal("-42.99").toNumber()`, -42.99],
  [`new Decimal("123456789012345678901234567890").toNumber()`, 123456789012345680000000000000],
];
const same = (value: string | number) =>
  typeof value === "string" && value.endsWith("0") && value.includes(".") ? value.replace(/0+$/, "") : value;
const SOURCE = `const first = [${ROWS.map(([text]) => text).join(",\n")}];\necho(1);\n({ first, again: [${ROWS.map(([text]) => text).join(", ")}] })`;
const WANTED = ROWS.map(([, value]) => same(value));

test("powers, roots, logarithms and numbers are right, live and on replay", async () => {
  const live = await runScript(sandbox, SOURCE, { lint: true });
  expect(live.result, JSON.stringify(live.end)).toEqual({ first: WANTED, again: WANTED });
  const again = await runScript(sandbox, SOURCE, { lint: true, history: live.history });
  expect(again.result).toEqual(live.result);
});

describe("in the sealed context of a tool", () => {
  test("they are the same, call after call", async () => {
    const source = `[${ROWS.map(([text]) => text).join(", ")}]`;
    for (const _ of [1, 2, 3]) expect((await runScript(sandbox, source, { lint: true, sealed: true })).result).toEqual(WANTED);
  });
  test("a call that ran out of stack during one leaves the rounding of the next one intact", async () => {
    const source = `if ((input as any).dive) { const f = (n: number): number => { new Decimal(n).sqrt(); return f(n + 1) };
try { f(2) } catch {} }
new Decimal(2).div(3).times(new Decimal(2).div(3)).sd()`;
    for (const input of [{}, { dive: true }, {}, { dive: true }, {}]) {
      const { result, end } = await runScript(sandbox, source, { sealed: true, input });
      if (!("dive" in input)) expect(result, JSON.stringify(end)).toBe(60);
    }
  });
});

test("operators on a Decimal still fail, and nothing used for computing can be changed", async () => {
  for (const expression of ["+new Decimal(2).sqrt()", "new Decimal(2).pow(2) > 1", "new Decimal(2) * 1"])
    expect((await runScript(sandbox, expression)).code).toBe("SCRIPT_MONEY");
  const changed = `const proto = Object.getPrototypeOf(new Decimal(1));
for (const name of ["pow", "sqrt", "toNumber"]) { try { proto[name] = () => 7 } catch {} try { new Decimal(1)[name].x = 1 } catch {} }
[new Decimal(2).pow(3), new Decimal(9).sqrt(), new Decimal("1.5").toNumber(), new Decimal(2).pow(3).constructor === Decimal]`;
  expect((await runScript(sandbox, changed)).result).toEqual(["8", "3", 1.5, true]);
});
