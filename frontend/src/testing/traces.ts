import type { Trace } from "../api/schema.gen";

/** A right solution of `left + right`, from `source`. */
export function sumTrace(left: number, right: number, source: string): Trace {
  const sum = left + right;
  return {
    prompt: `Ana has ${left} marbles and finds ${right} more. How many marbles has she now?`,
    steps: [{ i: 0, type: "reasoning", content: `She has ${left} + ${right} = ${sum} marbles.` }],
    final_answer: `${sum}`,
    meta: { source },
  };
}
