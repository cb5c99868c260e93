import type { Locator } from "@playwright/test";

/** How long the frames of a scroll took, in milliseconds. */
export interface Frames {
  count: number;
  median: number;
  longest: number;
}

/** Scroll something from its top to its end in `numSteps` frames, and look at how long each took. */
export async function scrollFrames(scroller: Locator, numSteps = 300): Promise<Frames> {
  const lengths = await scroller.evaluate(async (element, steps) => {
    const found: number[] = [];
    let before = await new Promise<number>(requestAnimationFrame);
    for (let step = 1; step <= steps; step += 1) {
      element.scrollTop = ((element.scrollHeight - element.clientHeight) * step) / steps;
      const now = await new Promise<number>(requestAnimationFrame);
      found.push(now - before);
      before = now;
    }
    return found;
  }, numSteps);
  const sorted = lengths.toSorted((a, b) => a - b);
  return { count: sorted.length, median: sorted[sorted.length >> 1] ?? 0, longest: sorted.at(-1) ?? 0 };
}
