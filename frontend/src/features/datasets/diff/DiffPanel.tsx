import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { diffQuery } from "../queries";
import type { DatasetDiff } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button } from "../../../ui/forms/Button";
import { formatNumber } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { DiffView } from "./DiffView";

const PAGE = 20;

interface DiffPanelProps {
  base: string;
  other: string;
  offset: number;
  onOffset: (offset: number) => void;
}

/** One page of changes with its navigation. */
export function DiffPanel({ base, other, offset, onOffset }: DiffPanelProps): ReactElement {
  const diff = useQuery(diffQuery(base, other, { limit: PAGE, offset }));

  if (diff.isPending) return <Loading what="Comparing rows…" />;
  if (diff.isError) {
    return (
      <ErrorNotice error={diff.error} title="Could not compare the datasets" onRetry={() => void diff.refetch()} />
    );
  }
  const numChanges = longestList(diff.data);
  return (
    <>
      <DiffView diff={diff.data} />
      {numChanges > PAGE ? (
        <nav aria-label="Pages of changes" className={styles.row}>
          <Button
            disabled={offset === 0}
            onClick={() => {
              onOffset(Math.max(0, offset - PAGE));
            }}
          >
            Previous
          </Button>
          <p>
            {formatNumber(offset + 1)} to {formatNumber(Math.min(offset + PAGE, numChanges))} of each list
          </p>
          <Button
            disabled={offset + PAGE >= numChanges}
            onClick={() => {
              onOffset(offset + PAGE);
            }}
          >
            Next
          </Button>
        </nav>
      ) : null}
    </>
  );
}

function longestList({ num_added, num_removed, num_answers_changed, num_splits_moved }: DatasetDiff): number {
  return Math.max(num_added, num_removed, num_answers_changed, num_splits_moved);
}
