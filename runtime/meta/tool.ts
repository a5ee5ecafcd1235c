/** What a tool of the meta-agent is, and how it refuses. */
import { z } from "zod";
import { formatAt } from "../kernel/errors.ts";
import type { Finding } from "../kernel/ports.ts";
import type { Situation, ToolResult, Workshop } from "./workshop.ts";

interface Declared<P extends z.ZodType> {
  about: string;
  params: P;
  run(params: z.output<P>, at: Situation, shop: Workshop): Promise<ToolResult>;
}
export type Tool = Declared<z.ZodType>;

export const tool = <P extends z.ZodType>(one: Declared<P>): Tool => one as unknown as Tool;
export const words = (most: number) => z.string().min(1).max(most);

export const no = (message: string, note: string): ToolResult => ({ result: { error: message }, note: `${note}: refused`, failed: true });

/** Findings as lines. */
export const told = (findings: readonly Finding[]): string[] =>
  findings.slice(0, 20).map(({ code, at, message }) => `${formatAt(at)} ${code}: ${message.slice(0, 600)}`);
