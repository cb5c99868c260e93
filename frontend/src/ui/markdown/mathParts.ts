export interface MathPart {
  kind: "text" | "inline" | "block";
  text: string;
}

// A dollar sign before a digit is money unless another one closes it directly after a non-space, as in TeX.
const MATHS = /\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)|\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)/g;

/**
 * Splits a text into prose and formulas.
 *
 * @example
 * mathParts("So $x = 2$.") // text "So ", inline "x = 2", text "."
 */
export function mathParts(text: string): MathPart[] {
  const parts: MathPart[] = [];
  let end = 0;
  for (const match of text.matchAll(MATHS)) {
    parts.push({ kind: "text", text: text.slice(end, match.index) });
    const block = match[1] ?? match[2];
    parts.push(
      block === undefined ? { kind: "inline", text: match[3] ?? match[4] ?? "" } : { kind: "block", text: block },
    );
    end = match.index + match[0].length;
  }
  parts.push({ kind: "text", text: text.slice(end) });
  return parts.filter((part) => part.text !== "");
}

/** The positions of the formulas in a text, including delimiters. */
export function formulaSpans(text: string): [number, number][] {
  return [...text.matchAll(MATHS)].map((match) => [match.index, match.index + match[0].length]);
}
