export const bracketAnswer = (x: unknown[]) => JSON.stringify(x);
