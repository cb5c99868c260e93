import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DatasetDiff } from "../../../api/schema.gen";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { formatNumber } from "../../../ui/display/format";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import styles from "../datasets.module.css";
import { datasetChoicesQuery, diffQuery } from "../queries";
import { DiffView } from "./DiffView";
import type { DiffSearch } from "./search";

const route = getRouteApi("/datasets/$datasetKey/diff");

/** The changes from this dataset to another one. */
export function DatasetDiffScreen(): ReactElement {
  const { datasetKey } = route.useParams();
  const { other = "", offset = 0 } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: DiffSearch): void => {
    void navigate({ search: withChanges<DiffSearch>(changes), replace: true });
  };
  return (
    <Page
      title={`Changes since ${datasetKey}`}
      actions={
        <>
          {other === "" ? null : (
            <CopyAs
              snippets={snippets({
                cli: `tunix-rt data diff ${datasetKey} ${other}`,
                path: `/api/datasets/${datasetKey}/diff?other=${other}`,
              })}
            />
          )}
          {other === "" ? null : (
            <Link
              to="/datasets/$datasetKey/diff"
              params={{ datasetKey: other }}
              search={{ other: datasetKey }}
              className={buttonClass()}
            >
              Swap
            </Link>
          )}
        </>
      }
    >
      <DatasetSelect
        base={datasetKey}
        other={other}
        onChoose={(next) => {
          change({ other: next, offset: 0 });
        }}
      />
      {other === "" ? (
        <Empty title="Choose a dataset">
          <p>Choose the dataset to compare with. Rows, answers and splits that differ are listed here.</p>
        </Empty>
      ) : (
        <DiffPanel
          base={datasetKey}
          other={other}
          offset={offset}
          onOffset={(next) => {
            change({ offset: next });
          }}
        />
      )}
    </Page>
  );
}

interface DatasetSelectProps {
  base: string;
  other: string;
  onChoose: (other: string) => void;
}

function DatasetSelect({ base, other, onChoose }: DatasetSelectProps): ReactElement {
  const { data, error } = useQuery(datasetChoicesQuery);
  const keys = (data?.data ?? []).map(({ dataset_key }) => dataset_key).filter((key) => key !== base);
  const known = other === "" || keys.includes(other) ? keys : [...keys, other];
  const choices = [{ value: "", label: "choose a dataset" }, ...known.map((key) => ({ value: key, label: key }))];
  return (
    <div className={styles.row}>
      <Select label="Compare with" value={other} choices={choices} onChange={onChoose} error={error?.message} />
    </div>
  );
}

const PAGE = 20;

interface DiffPanelProps {
  base: string;
  other: string;
  offset: number;
  onOffset: (offset: number) => void;
}

/** One page of changes with its navigation. */
function DiffPanel({ base, other, offset, onOffset }: DiffPanelProps): ReactElement {
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
