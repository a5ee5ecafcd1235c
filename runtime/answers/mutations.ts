export const runMetadata = (x: unknown) => x;
