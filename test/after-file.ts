/** What a module that several test files share has to end or remove after each of them: files of one process load it once. */
export const afterFile = new Set<() => Promise<void> | void>();
