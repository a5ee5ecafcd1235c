/** Who could be told, paid or reached by a text that stands in a script or a setting: mail addresses, accounts, payees, hosts. */

/** A literal with the names it stands under. */
export interface Written {
  value: string | number | boolean;
  path: string;
}

const RECIPIENT_KEY =
  /(?:^|[._])(?:to|cc|bcc|channel|recipients?|e?mail|payee|beneficiary|creditor|iban|bic|account_number|bank_account|sort_code|wallet|phone)$/i;
const MAIL = /[^\s@<>,;"']+@[^\s@<>,;"']+\.[a-z]{2,}/gi;
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b/g;
// Account and card numbers; a day written as 20261231 is one of eight digits.
const DIGITS = /^\d{9,19}$/;
const URL_HOST = /\b(?:[a-z][a-z0-9+.-]*:)?\/\/([^\s/"'?#\\]+)/gi;
const BARE_HOST =
  /^(?:[a-z0-9-]{1,63}\.)+(?:[a-z]{2}|com|net|org|info|biz|dev|app|cloud|shop|online|site|example|test)(?::\d+)?(?:\/\S*)?$/i;
const FILE_NAME = /\.(?:ts|js|md|gz|py|sh)$/i;
const IP = /^(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?$/;
/** Where a bare word such as shop.example is an address and not the text of a vendor: by its key, or in a call that reaches outside. */
const ADDRESS = /(?:^|[._])(?:ur[il]|host|domain|end_?point|server|site|address|webhook|callback)s?$|^(?:mcp|notify|agent)_/i;

/** Recipients a literal names. */
export function recipientsIn({ value, path }: Written): string[] {
  const text = String(value);
  if (typeof value === "boolean" || text === "") return [];
  if (RECIPIENT_KEY.test(path)) return [text];
  return [...text.matchAll(MAIL), ...text.matchAll(IBAN)].map(([one]) => one).concat(DIGITS.test(text) ? [text] : []);
}

/** Hosts a literal names. */
export function hostsIn({ value, path }: Written): string[] {
  if (typeof value !== "string") return [];
  const hosts = [...value.matchAll(URL_HOST)].map(([, host]) => (host ?? "").toLowerCase());
  const bare = (ADDRESS.test(path) && BARE_HOST.test(value) && !FILE_NAME.test(value)) || IP.test(value);
  return bare ? [...hosts, value.toLowerCase()] : hosts;
}
