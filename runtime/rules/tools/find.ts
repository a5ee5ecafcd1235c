/** Tools nearest to a description: BM25 (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75) over name, description and parameters. */
import type { ToolInfo } from "../../kernel/ports.ts";
import { nameWords } from "./classify.ts";
import { propertiesOf } from "./shape.ts";

const K1 = 1.2;
const B = 0.75;

const STOP = new Set(
  (
    "a about all am an and any are as at be been but by can could did do does done each find for from get give had has have her him his how i if in " +
    "into is it its let look many may me much my need no not now of off on one or our out please shall should show so some still tell than that the " +
    "their them then there they this those to today up us want was we were what when where which while who whom whose why will with would you your"
  ).split(" "),
);

/** Words without their commonest endings: invoices and invoice are equal. */
const termsOf = (text: string): string[] =>
  nameWords(text)
    .filter((word) => !STOP.has(word))
    .map((word) =>
      word
        .replace(/ies$/, "y")
        .replace(/(?<=[^s])s$/, "")
        .replace(/(?<=\w{3})(?:ing|ed)$/, "")
        .replace(/(?<=\w{3})e$/, ""),
    );

/** The name counts three times: it is the author's own summary. */
function documentOf(tool: ToolInfo): string[] {
  const params = Object.keys(propertiesOf(tool.input_schema));
  const name = termsOf(tool.name);
  return [...name, ...name, ...name, ...termsOf(tool.description.slice(0, 2000)), ...params.flatMap(termsOf)];
}

/** At most `limit` tools that share a word with the wish, best first; equal scores by name. */
export function findTools(tools: readonly ToolInfo[], wish: string, limit: number): ToolInfo[] {
  const wanted = new Set(termsOf(wish));
  const documents = tools.map((tool) => ({ tool, terms: Map.groupBy(documentOf(tool), (term) => term), length: documentOf(tool).length }));
  const mean = documents.reduce((total, one) => total + one.length, 0) / Math.max(1, documents.length);
  const idf = new Map(
    [...wanted].map((term) => {
      const having = documents.filter((one) => one.terms.has(term)).length;
      return [term, Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))];
    }),
  );
  return documents
    .map(({ tool, terms, length }) => {
      let score = 0;
      for (const [term, weight] of idf) {
        const often = terms.get(term)?.length ?? 0;
        score += (weight * often * (K1 + 1)) / (often + K1 * (1 - B + (B * length) / mean));
      }
      return { tool, score };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.tool < b.tool.tool ? -1 : 1))
    .slice(0, limit)
    .map(({ tool }) => tool);
}
