export const missingFields = (fields: Record<string, unknown>, result: unknown): string[] =>
  Object.keys(fields).filter((f) => (result as Record<string, unknown> | null)?.[f] === undefined);
