const NUM_SHOWN_CHARACTERS = 8;

/** The first characters of an id, enough to tell two traces apart. */
export function shortId(id: string): string {
  return id.slice(0, NUM_SHOWN_CHARACTERS);
}

/** The title of a step: its number in the trace, and its type unless it is the usual one. */
export function stepTitle(step: { i: number; type?: string }): string {
  const isUsual = step.type === undefined || step.type === "reasoning";
  return isUsual ? `Step ${step.i}` : `Step ${step.i}: ${step.type}`;
}
