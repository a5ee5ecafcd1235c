/** An entry that comes out differently, in the words of somebody who keeps the books; and amounts and accounts as they say them. */
import type { EntryStatus } from "../../kernel/ports.ts";
import { firstDifference } from "./partings.ts";
import type { EntryEffect, RunDifference } from "./types.ts";

/** "7980.00" as "7,980.00". */
export const grouped = (amount: string): string =>
  amount.replace(/^(-?)(\d+)/, (_, sign: string, whole: string) => sign + whole.replace(/\B(?=(\d{3})+$)/g, ","));

/** An account as people call it: "Office Supplies" of "Expenses:Office Supplies". */
export const shortAccount = (name: string): string => name.slice(name.indexOf(":") + 1) || name;

/** `AWS: Software to Office Supplies` */
export function entryWords({ was, now }: RunDifference["entries"][number]): string {
  const about = (now ?? was)?.description ?? "";
  if (was === null || now === null) return `${about}: ${was === null ? "new" : "no longer booked"}`;
  const only = (one: EntryEffect, other: EntryEffect) =>
    one.legs.map(({ account }) => account).filter((account) => !other.legs.some((leg) => leg.account === account));
  const [from, to] = [only(was, now), only(now, was)].map((all) => all.map(shortAccount).join(" and "));
  if (from !== "" && to !== "") return `${about}: ${from} to ${to}`;
  if (from !== "" || to !== "") return `${about}: ${from === "" ? `also ${to}` : `no longer ${from}`}`;
  if (was.status !== now.status) return `${about}: ${STATUS[now.status] ?? now.status}, was ${STATUS[was.status] ?? was.status}`;
  return `${about}: ${firstDifference(was, now)}`;
}

const STATUS: Partial<Record<EntryStatus, string>> = {
  ...{
    "pending-review": "waiting for a person",
    "auto-confirmed": "confirmed without a person",
    "user-confirmed": "confirmed as if by a person",
  },
  ...{ "user-corrected": "corrected as if by a person", voided: "voided" },
};
