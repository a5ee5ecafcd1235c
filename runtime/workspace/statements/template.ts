/**
 * Line templates for the preamble of a CSV: `Ending balance as of {closing_date},,"{closing}"`. Matched by searching for the
 * fixed parts one after another, which is linear: unlike a regular expression, no template can hang the host.
 */

export const PLACEHOLDERS = ["account", "opening", "closing", "closing_date", "from", "to"] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

export function isTemplate(template: string): boolean {
  const names = template.split(/\{([a-z_]*)\}/).filter((_, i) => i % 2 === 1);
  return names.every((name) => name === "" || PLACEHOLDERS.some((placeholder) => placeholder === name));
}

/** The texts at the placeholders, or null when the line is not of this form. `{}` stands for any text. */
export function matchTemplate(template: string, line: string): Partial<Record<Placeholder, string>> | null {
  const parts = template.split(/\{([a-z_]*)\}/);
  const found: Partial<Record<Placeholder, string>> = {};
  if (!line.startsWith(parts[0] ?? "")) return null;
  let at = (parts[0] ?? "").length;
  for (let i = 1; i < parts.length; i += 2) {
    const fixed = parts[i + 1] ?? "";
    const end =
      i + 2 >= parts.length ? (line.endsWith(fixed) ? line.length - fixed.length : -1) : fixed === "" ? at : line.indexOf(fixed, at);
    if (end < at) return null;
    const name = PLACEHOLDERS.find((placeholder) => placeholder === parts[i]);
    if (name !== undefined) found[name] = line.slice(at, end).trim();
    at = end + fixed.length;
  }
  return at === line.length ? found : null;
}
