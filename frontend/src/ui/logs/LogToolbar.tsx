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
  numHits: number;
  onHit: (hit: number) => void;
  numLines: number;
  /** Null: the log is complete, there is nothing to follow. */
  isFollowing: boolean | null;
  onFollow: (isFollowing: boolean) => void;
}

export function LogToolbar(props: LogToolbarProps): ReactElement {
  const { query, onQuery, current, numHits, onHit, numLines, isFollowing, onFollow } = props;
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
          if (event.key === "Enter") onHit(event.shiftKey ? current - 1 : current + 1);
        }}
      />
      <Button
        aria-label="Previous hit"
        disabled={numHits === 0}
        onClick={() => {
          onHit(current - 1);
        }}
      >
        ↑
      </Button>
      <Button
        aria-label="Next hit"
        disabled={numHits === 0}
        onClick={() => {
          onHit(current + 1);
        }}
      >
        ↓
      </Button>
      <span role="status" className={styles.count}>
        {query === ""
          ? formatCount(numLines, "line")
          : numHits === 0
            ? "no hits"
            : `${current + 1} of ${formatNumber(numHits)}`}
      </span>
      {isFollowing === null ? null : <Checkbox label="Follow" isChecked={isFollowing} onChange={onFollow} />}
    </div>
  );
}
