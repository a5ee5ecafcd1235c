export const approvalBrief = (x: unknown) => x;
