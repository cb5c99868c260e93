/** Steps have the number that the trace gives them; a type that is not the usual one is named. */
export function stepTitle(step: { i: number; type?: string }): string {
  const isUsual = step.type === undefined || step.type === "reasoning";
  return isUsual ? `Step ${step.i}` : `Step ${step.i}: ${step.type}`;
}
