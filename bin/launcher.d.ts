/** For tests and the settings of vitest. */
export const NODE_FLAGS: string[];
