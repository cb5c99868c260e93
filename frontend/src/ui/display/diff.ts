export interface DiffPart {
  kind: "same" | "added" | "removed";
  text: string;
}

const MAX_CELLS = 4_000_000;

/** The diff of two texts by words, or by lines when they are very long. */
export function diffTexts(before: string, after: string): DiffPart[] {
  const words = [before, after].map((text) => text.split(/(\s+)/).filter((word) => word !== ""));
  const [olds = [], news = []] = words;
  if (olds.length * news.length <= MAX_CELLS) return diffTokens(olds, news);
  const [oldLines = [], newLines = []] = [before, after].map((text) => text.split(/(?<=\n)/));
  if (oldLines.length * newLines.length <= MAX_CELLS) return diffTokens(oldLines, newLines);
  return joined([part("removed", before), part("added", after)]);
}

/** A diff based on the longest common subsequence. */
export function diffTokens(olds: readonly string[], news: readonly string[]): DiffPart[] {
  const lengths = commonLengths(olds, news);
  const parts: DiffPart[] = [];
  let [i, j] = [0, 0];
  while (i < olds.length || j < news.length) {
    const [old, fresh] = [olds[i], news[j]];
    if (old !== undefined && old === fresh) {
      parts.push(part("same", old));
      i += 1;
      j += 1;
    } else if (old !== undefined && (fresh === undefined || at(lengths, i + 1, j) >= at(lengths, i, j + 1))) {
      parts.push(part("removed", old));
      i += 1;
    } else {
      parts.push(part("added", fresh ?? ""));
      j += 1;
    }
  }
  return joined(parts);
}

/** `[i][j]`: the length of the longest common subsequence of `olds` from `i` and `news` from `j`. */
function commonLengths(olds: readonly string[], news: readonly string[]): Uint32Array[] {
  const rows = Array.from({ length: olds.length + 1 }, () => new Uint32Array(news.length + 1));
  for (let i = olds.length - 1; i >= 0; i -= 1) {
    const row = rows[i];
    for (let j = news.length - 1; j >= 0; j -= 1) {
      if (row)
        row[j] = olds[i] === news[j] ? at(rows, i + 1, j + 1) + 1 : Math.max(at(rows, i + 1, j), at(rows, i, j + 1));
    }
  }
  return rows;
}

function at(rows: Uint32Array[], i: number, j: number): number {
  return rows[i]?.[j] ?? 0;
}

function part(kind: DiffPart["kind"], text: string): DiffPart {
  return { kind, text };
}

function joined(parts: DiffPart[]): DiffPart[] {
  return parts.reduce<DiffPart[]>((joinedParts, next) => {
    const last = joinedParts.at(-1);
    if (last?.kind === next.kind) last.text += next.text;
    else if (next.text !== "") joinedParts.push({ ...next });
    return joinedParts;
  }, []);
}
