/**
 * Scores how well `query` matches `text`; lower is better. Null if its letters do not all occur in this order.
 *
 * @example
 * fuzzyScore("plr", "Plan & launch a run") // a number
 */
export function fuzzyScore(query: string, text: string): number | null {
  const [wanted, given] = [query.toLowerCase().replaceAll(" ", ""), text.toLowerCase()];
  let [score, position] = [0, -1];
  for (const letter of wanted) {
    const found = given.indexOf(letter, position + 1);
    if (found < 0) return null;
    const startsWord = found === 0 || given[found - 1] === " ";
    score += found === position + 1 ? 0 : startsWord ? 1 : 5 + found - position;
    position = found;
  }
  return score + given.length / 1_000;
}

/** The items whose label matches, best first. An empty query returns all items in order. */
export function fuzzyFilter<Item extends { label: string }>(query: string, items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, score: fuzzyScore(query, item.label) }))
    .filter((scored): scored is { item: Item; score: number } => scored.score !== null)
    .sort((a, b) => (query === "" ? 0 : a.score - b.score))
    .map(({ item }) => item);
}
