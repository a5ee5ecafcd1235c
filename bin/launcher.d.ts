/** For tests, benchmarks and the settings of vitest. */
export const NODE_FLAGS: string[], OWNER_FLAGS: string[];
