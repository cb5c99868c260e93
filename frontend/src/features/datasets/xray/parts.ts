import type { XrayToken } from "../../../api/schema.gen";

export const PART_NAMES: Record<XrayToken["part"], string> = {
  prompt: "question",
  markup: "markup",
  reasoning: "reasoning",
  answer: "answer",
  end_of_turn: "end of turn",
  padding: "padding",
};

/** Consecutive tokens with the same state and part. */
export interface TokenRun {
  start: number;
  state: XrayToken["state"];
  part: XrayToken["part"];
  tokens: XrayToken[];
}

/** A segment of a row: one example, or the padding after the last one. */
export interface RowPart {
  start: number;
  end: number;
  /** Null for padding. */
  example: number | null;
}

/**
 * Groups consecutive tokens with the same state and part.
 *
 * @example
 * prompt prompt answer → [prompt prompt] [answer]
 */
export function tokenRuns(tokens: readonly XrayToken[], start: number, end: number): TokenRun[] {
  const runs: TokenRun[] = [];
  tokens.slice(start, end).forEach((token, offset) => {
    const last = runs.at(-1);
    if (last?.state === token.state && last.part === token.part) last.tokens.push(token);
    else runs.push({ start: start + offset, state: token.state, part: token.part, tokens: [token] });
  });
  return runs;
}

/** The text of a token with invisible characters replaced by symbols. */
export function visibleText(text: string): string {
  return text === "" ? "·" : text.replaceAll("\n", "⏎\n").replaceAll("\t", "⇥");
}
