import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import { classes } from "../classes";
import { formatCount, formatNumber } from "../display/format";
import { Button } from "../forms/Button";
import { Checkbox } from "../forms/Checkbox";
import { TextField } from "../forms/TextField";
import styles from "./LogView.module.css";

interface LogViewProps {
  /** The name of the log. */
  name: string;
  lines: readonly string[];
  /** Whether new lines may arrive. Shows the Follow option. */
  isLive?: boolean;
  height?: string;
}

const LINE_HEIGHT_PX = 20;
const NEAR_END_PX = 2 * LINE_HEIGHT_PX;

/** A virtualized log of any length with search and follow. */
export function LogView({ name, lines, isLive = false, height = "28rem" }: LogViewProps): ReactElement {
  const { query, search, matches, current, setCurrent } = useLogSearch(lines);
  const [isFollowing, setFollowing] = useState(isLive);
  const scroller = useRef<HTMLDivElement>(null);
  // The React compiler cannot analyse the virtualizer. This component is not memoized manually either.
  // eslint-disable-next-line react-hooks/incompatible-library
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_HEIGHT_PX,
    overscan: 30,
    initialRect: { width: 1_000, height: 400 },
  });
  useEffect(() => {
    if (isFollowing && lines.length > 0) virtual.scrollToIndex(lines.length - 1);
  }, [isFollowing, lines.length, virtual]);
  const goTo = (match: number): void => {
    const next = (match + matches.length) % Math.max(matches.length, 1);
    setCurrent(next);
    setFollowing(false);
    virtual.scrollToIndex(matches[next] ?? 0, { align: "center" });
  };
  return (
    <section aria-label={name} className={styles.log}>
      <LogToolbar
        query={query}
        onQuery={search}
        current={current}
        numMatches={matches.length}
        onMatch={goTo}
        numLines={lines.length}
        isFollowing={isLive ? isFollowing : null}
        onFollow={setFollowing}
      />
      <div
        ref={scroller}
        role="log"
        aria-label={`Lines of ${name}`}
        aria-live="off"
        // A scrollable region must be reachable by keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className={styles.lines}
        style={{ height }}
        onScroll={(event) => {
          if (isLive) setFollowing(isAtEnd(event.currentTarget));
        }}
      >
        <div style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => (
            <Line
              key={index}
              number={index + 1}
              text={lines[index] ?? ""}
              query={query}
              isCurrent={query !== "" && matches[current] === index}
              top={start}
            />
          ))}
        </div>
      </div>
    </section>
  );
}

interface LineProps {
  number: number;
  text: string;
  query: string;
  isCurrent: boolean;
  top: number;
}

function Line({ number, text, query, isCurrent, top }: LineProps): ReactElement {
  return (
    <div className={classes(styles.line, isCurrent && styles.current)} style={{ transform: `translateY(${top}px)` }}>
      <span className={styles.number}>{number}</span>
      <Marked text={text} query={query} />
    </div>
  );
}

/** A text with the search matches marked. */
function Marked({ text, query }: { text: string; query: string }): ReactElement {
  const at = query === "" ? -1 : text.toLowerCase().indexOf(query.toLowerCase());
  if (at < 0) return <code>{text}</code>;
  return (
    <code>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + query.length)}</mark>
      {text.slice(at + query.length)}
    </code>
  );
}

interface LogSearch {
  query: string;
  search: (query: string) => void;
  /** The indexes of the matching lines. */
  matches: number[];
  /** The index of the current match. */
  current: number;
  setCurrent: (current: number) => void;
}

function useLogSearch(lines: readonly string[]): LogSearch {
  const [query, setQuery] = useState("");
  const [current, setCurrent] = useState(0);
  const matches = useMemo(() => {
    const wanted = query.toLowerCase();
    if (wanted === "") return [];
    return lines.flatMap((line, index) => (line.toLowerCase().includes(wanted) ? [index] : []));
  }, [lines, query]);
  const search = (text: string): void => {
    setQuery(text);
    setCurrent(0);
  };
  return { query, search, matches, current, setCurrent };
}

function isAtEnd(element: HTMLElement): boolean {
  return element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX;
}

interface LogToolbarProps {
  query: string;
  onQuery: (query: string) => void;
  current: number;
  numMatches: number;
  onMatch: (match: number) => void;
  numLines: number;
  /** Null if the log is complete. */
  isFollowing: boolean | null;
  onFollow: (isFollowing: boolean) => void;
}

function LogToolbar(props: LogToolbarProps): ReactElement {
  const { query, onQuery, current, numMatches, onMatch, numLines, isFollowing, onFollow } = props;
  return (
    <div className={styles.toolbar}>
      <TextField
        label="Search the log"
        isLabelHidden
        type="search"
        placeholder="Search the log"
        value={query}
        onChange={onQuery}
        onKeyDown={(event) => {
          if (event.key === "Enter") onMatch(event.shiftKey ? current - 1 : current + 1);
        }}
      />
      <Button
        aria-label="Previous match"
        disabled={numMatches === 0}
        onClick={() => {
          onMatch(current - 1);
        }}
      >
        ↑
      </Button>
      <Button
        aria-label="Next match"
        disabled={numMatches === 0}
        onClick={() => {
          onMatch(current + 1);
        }}
      >
        ↓
      </Button>
      <span role="status" className={styles.count}>
        {query === ""
          ? formatCount(numLines, "line")
          : numMatches === 0
            ? "no matches"
            : `${current + 1} of ${formatNumber(numMatches)}`}
      </span>
      {isFollowing === null ? null : <Checkbox label="Follow" isChecked={isFollowing} onChange={onFollow} />}
    </div>
  );
}
