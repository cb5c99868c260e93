import type { Finding, Trace } from "../../../api/schema.gen";
import { formulaSpans } from "../../../ui/markdown/mathParts";

type Span = readonly [number, number];

/** A piece of a text; with the findings that are about it, by their place in the list. */
export interface MarkedPiece {
  text: string;
  marks: number[];
}

/**
 * A text cut where findings begin and end. A formula is never cut: a finding inside it marks all of it.
 *
 * @example
 * markedPieces("So 2 + 3 = 6.", [[3, 12]]) // "So ", marked "2 + 3 = 6", "."
 */
export function markedPieces(text: string, spans: readonly Span[]): MarkedPiece[] {
  const formulas = formulaSpans(text);
  const wide = spans.map((span) => aroundFormulas(utf16Span(text, span), formulas));
  const cuts = [...new Set([0, text.length, ...wide.flat()])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => {
    const start = cuts[index] ?? 0;
    const marks = wide.flatMap(([from, to], mark) => (from <= start && end <= to ? [mark] : []));
    return { text: text.slice(start, end), marks };
  });
}

export interface PlacedFindings {
  prompt: Finding[];
  answer: Finding[];
  /** By the `i` of the step. */
  steps: ReadonlyMap<number, Finding[]>;
}

/** Findings by the text that they are about. Those without a step are about the prompt or the answer. */
export function placeFindings(trace: Trace, findings: readonly Finding[]): PlacedFindings {
  const steps = new Map<number, Finding[]>();
  const [prompt, answer]: [Finding[], Finding[]] = [[], []];
  for (const finding of findings) {
    if (finding.step !== null) steps.set(finding.step, [...(steps.get(finding.step) ?? []), finding]);
    else (isAboutPrompt(trace, finding) ? prompt : answer).push(finding);
  }
  return { prompt, answer, steps };
}

function isAboutPrompt(trace: Trace, { code, span, found }: Finding): boolean {
  if (code === "answer-in-prompt") return true;
  const quoted = (text: string): string => text.slice(...utf16Span(text, span)).slice(0, found.length);
  return quoted(trace.final_answer) !== found && quoted(trace.prompt) === found;
}

/** The server counts characters, the browser UTF-16 units: an emoji is one and two. */
function utf16Span(text: string, [start, end]: Span): [number, number] {
  const characters = Array.from(text);
  const before = characters.slice(0, start).join("").length;
  return [before, before + characters.slice(start, end).join("").length];
}

function aroundFormulas([start, end]: Span, formulas: readonly Span[]): [number, number] {
  const touched = formulas.filter(([from, to]) => from < end && start < to);
  return [Math.min(start, ...touched.map(([from]) => from)), Math.max(end, ...touched.map(([, to]) => to))];
}
