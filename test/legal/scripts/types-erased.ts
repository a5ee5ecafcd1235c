/*
expect: {status: done, result: "v1"}
*/
interface Row<T extends object = {}> { id: string; rest?: T }
const rows: Row[] = [{ id: "v1" }];
const pick = <K extends keyof Row>(row: Row, key: K): Row[K] => row[key];
const first = rows[0]!;
(pick(first, "id") satisfies string)
