/** An inline element. */
export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; text: string }
  | { kind: "link"; text: string; href: string };

/** A block element. */
export type Block =
  | { kind: "heading"; level: number; text: string }
  | { kind: "paragraph"; text: string }
  | { kind: "list"; items: string[] }
  | { kind: "code"; text: string }
  | { kind: "table"; head: string[]; rows: string[][] };

interface ParsedBlock {
  block: Block;
  /** The number of lines it takes up. */
  numLines: number;
}

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^[-*]\s+/;

/**
 * Parses the subset of Markdown used by cards and notes. HTML stays text.
 *
 * @example
 * blocksOf("# A\n\n- b") // [{ kind: "heading", level: 1, text: "A" }, { kind: "list", items: ["b"] }]
 */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let lines = withoutFrontMatter(text.split("\n"));
  while (lines.length > 0) {
    if (lines[0]?.trim() === "") {
      lines = lines.slice(1);
      continue;
    }
    const { block, numLines } = parseBlock(lines);
    blocks.push(block);
    lines = lines.slice(numLines);
  }
  return blocks;
}

/** Parses the inline elements of a line: code, strong text and http links. */
export function inlinesOf(text: string): Inline[] {
  const found: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, label, href] = match;
    if (match.index > end) found.push({ kind: "text", text: text.slice(end, match.index) });
    if (code !== undefined) found.push({ kind: "code", text: code });
    else if (strong !== undefined) found.push({ kind: "strong", text: strong });
    else if (label !== undefined && href !== undefined) found.push({ kind: "link", text: label, href });
    end = match.index + whole.length;
  }
  if (end < text.length) found.push({ kind: "text", text: text.slice(end) });
  return found;
}

/** Skips the front matter between two lines of `---`. */
function withoutFrontMatter(lines: string[]): string[] {
  const end = lines[0] === "---" ? lines.indexOf("---", 1) : -1;
  return end === -1 ? lines : lines.slice(end + 1);
}

function parseBlock(lines: string[]): ParsedBlock {
  const [first = ""] = lines;
  const heading = HEADING.exec(first);
  if (heading)
    return { block: { kind: "heading", level: (heading[1] ?? "#").length, text: heading[2] ?? "" }, numLines: 1 };
  if (first.startsWith("```")) return fence(lines);
  if (first.startsWith("|")) return table(lines);
  if (ITEM.test(first)) {
    const items = leading(lines, (line) => ITEM.test(line));
    return { block: { kind: "list", items: items.map((line) => line.replace(ITEM, "")) }, numLines: items.length };
  }
  const own = [first, ...leading(lines.slice(1), isPlain)];
  return { block: { kind: "paragraph", text: own.join(" ") }, numLines: own.length };
}

function fence(lines: string[]): ParsedBlock {
  const end = lines.findIndex((line, index) => index > 0 && line.startsWith("```"));
  const last = end === -1 ? lines.length : end;
  return { block: { kind: "code", text: lines.slice(1, last).join("\n") }, numLines: last + 1 };
}

function table(lines: string[]): ParsedBlock {
  const own = leading(lines, (line) => line.startsWith("|"));
  const [head = [], ...rows] = own.map(cellsOf);
  const isRule = (cells: string[]): boolean => cells.every((cell) => /^:?-+:?$/.test(cell));
  return { block: { kind: "table", head, rows: rows.filter((cells) => !isRule(cells)) }, numLines: own.length };
}

function cellsOf(line: string): string[] {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  return cells.slice(1, cells.at(-1) === "" ? -1 : undefined);
}

function isPlain(line: string): boolean {
  return line.trim() !== "" && !HEADING.test(line) && !ITEM.test(line) && !/^(```|\|)/.test(line);
}

function leading(lines: string[], matches: (line: string) => boolean): string[] {
  const end = lines.findIndex((line) => !matches(line));
  return end === -1 ? lines : lines.slice(0, end);
}
