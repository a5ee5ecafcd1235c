/**
 * Words: texts for people read like those of an English-speaking bookkeeper, in the terms of docs/GLOSSARY.md. Checks the literals
 * in the code of runtime and primitives, and all of agents, scripts, settings and docs.
 */
import { parseSync } from "oxc-parser";
import { type Node, within } from "../runtime/scripts/syntax.ts";
import { sourceFiles } from "./source-files.ts";

const BANNED: [pattern: RegExp, instead: string][] = [
  [/(?<!there )\b(?:is|are|was|were) no (?!longer|more|less|later)/gi, "is not a ..."],
  [/(?:\b(?:an?|the|its|your|their|every)|['’]s|\bthat(?= yes)) (?:yes|no)\b(?!-)|\byeses\b/gi, "approval, rejection"],
  [/\bhangs? on\b/gi, "depends on"],
  [/\bcomes? out otherwise\b|\btold otherwise\b|\bsays otherwise how\b/gi, "differs, changes the result"],
  [/\bstands? (?:(?:here|there|in it) )?twice\b/gi, "appears twice, is listed twice"],
  [/\bst(?:ands?|ood) still\b/gi, "is suspended, stopped responding"],
  [/\bwhere (?:it|the run) st(?:ands|ood)\b/gi, "its status"],
  [/\bsomebody (?:of|without|who)\b|\bnobody of\b/gi, "an unidentified user, a person who, no one in"],
  [/\bunless told\b/gi, "default:"],
  [/\bby (?:then|now)\b|\boftener\b/gi, "at that time, already, more often"],
  [/\bbelongs? into\b|\bis there already\b|\bwhat there is not\b|\blets? out\b/gi, "belongs in, already exists, allows"],
  [/\bcomes? to its end\b|\bagain and again\b|\blooked at again\b/gi, "ends, repeatedly, checked again"],
];
const findings: string[] = [];
let seen = 0;
function look(path: string, source: string, start = 0, end = source.length): void {
  seen++;
  for (const [pattern, instead] of BANNED)
    for (const { 0: found, index } of source.slice(start, end).matchAll(pattern))
      findings.push(`${path}:${source.slice(0, start + index).split("\n").length} says "${found.trim()}"; write ${instead}`);
}
for (const { path, text } of sourceFiles(["runtime", "primitives"], [".ts", ".js"]))
  for (const { type, start, end } of within(parseSync(path, text).program as unknown as Node))
    if (type === "TemplateElement" || type === "Literal") look(path, text, start, end);
for (const { path, text } of sourceFiles(["agents", "scripts", "*.md", "*.yaml"], [".ts", ".md", ".yaml"])) look(path, text);
if (seen === 0) findings.push("no text was found: the check checked nothing");
for (const finding of findings) console.error(finding);
console.log(`words: ${seen} texts, ${findings.length} findings`);
process.exit(findings.length > 0 ? 1 : 0);
