import type { Finding, Trace } from "../../../api/schema.gen";
import { formulaSpans } from "../../../ui/markdown/mathParts";

type Span = readonly [number, number];

/** A piece of a text, with the indexes of the findings that cover it. */
export interface MarkedPiece {
  text: string;
  marks: number[];
}

/**
 * Splits a text where findings begin and end. A formula is never split: a finding inside it marks all of it.
 *
 * @example
 * markedPieces("So 2 + 3 = 6.", [[3, 12]]) // "So ", marked "2 + 3 = 6", "."
 */
export function markedPieces(text: string, spans: readonly Span[]): MarkedPiece[] {
  const formulas = formulaSpans(text);
  const widened = spans.map((span) => widenToFormulas(utf16Span(text, span), formulas));
  const cuts = [...new Set([0, text.length, ...widened.flat()])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => {
    const start = cuts[index] ?? 0;
    const marks = widened.flatMap(([from, to], mark) => (from <= start && end <= to ? [mark] : []));
    return { text: text.slice(start, end), marks };
  });
}

export interface GroupedFindings {
  prompt: Finding[];
  answer: Finding[];
  /** By the `i` of the step. */
  steps: ReadonlyMap<number, Finding[]>;
}

/** Groups findings by the text they refer to. Those without a step refer to the prompt or the answer. */
export function groupFindings(trace: Trace, findings: readonly Finding[]): GroupedFindings {
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

/** The server counts code points and the browser UTF-16 units: an emoji is one code point but two units. */
function utf16Span(text: string, [start, end]: Span): [number, number] {
  const characters = Array.from(text);
  const before = characters.slice(0, start).join("").length;
  return [before, before + characters.slice(start, end).join("").length];
}

function widenToFormulas([start, end]: Span, formulas: readonly Span[]): [number, number] {
  const overlapping = formulas.filter(([from, to]) => from < end && start < to);
  return [Math.min(start, ...overlapping.map(([from]) => from)), Math.max(end, ...overlapping.map(([, to]) => to))];
}
