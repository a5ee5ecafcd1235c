/*
expect: {status: done, result: "12"}
*/
// What a Decimal says of itself is read by code of the realm; a made-up one is at most text with digits.
const fake = Object.create(Decimal.prototype);
let reads = 0;
Object.defineProperty(fake, "d", { get() { reads++; return [12] } });
fake.e = 1; fake.s = 1;
echo(fake)
