import type { ReactElement } from "react";
import { Button } from "../forms/Button";
import { Checkbox } from "../forms/Checkbox";
import { TextField } from "../forms/TextField";
import { formatCount, formatNumber } from "../display/format";
import styles from "./LogView.module.css";

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

export function LogToolbar(props: LogToolbarProps): ReactElement {
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
