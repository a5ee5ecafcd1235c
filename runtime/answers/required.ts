export const missingFields = (fields: Record<string, unknown>, result: any): string[] => Object.keys(fields).filter((f) => result?.[f] === undefined);
