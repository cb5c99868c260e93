import type { Locator } from "@playwright/test";

/** The longest frame of a scroll from top to bottom, in milliseconds. */
export function longestFrame(scroller: Locator, numSteps = 300): Promise<number> {
  return scroller.evaluate(async (element, steps) => {
    let longest = 0;
    let before = await new Promise<number>(requestAnimationFrame);
    for (let step = 1; step <= steps; step += 1) {
      element.scrollTop = ((element.scrollHeight - element.clientHeight) * step) / steps;
      const now = await new Promise<number>(requestAnimationFrame);
      longest = Math.max(longest, now - before);
      before = now;
    }
    return longest;
  }, numSteps);
}
