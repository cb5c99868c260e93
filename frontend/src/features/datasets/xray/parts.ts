import type { XrayToken } from "../../../api/schema.gen";

export const PART_NAMES: Record<XrayToken["part"], string> = {
  prompt: "question",
  markup: "markup",
  reasoning: "reasoning",
  answer: "answer",
  end_of_turn: "end of turn",
  padding: "padding",
};

/** Tokens beside each other of the same kind. */
export interface TokenRun {
  start: number;
  state: XrayToken["state"];
  part: XrayToken["part"];
  tokens: XrayToken[];
}

/** A stretch of a row that is one example, or the padding after the last one. */
export interface RowPart {
  start: number;
  end: number;
  /** None: padding. */
  example: number | null;
}

/**
 * Tokens in runs of one state and part: what a reader sees as one piece.
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

/** A token as it is shown: what cannot be seen gets a sign. */
export function shownText(text: string): string {
  return text === "" ? "·" : text.replaceAll("\n", "⏎\n").replaceAll("\t", "⇥");
}
