import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ApiError } from "../../../api/errors";
import { comparisonQuery } from "../queries";
import type { Changes } from "../shared/changes";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { Command } from "../../../ui/copy/Command";
import { snippets } from "../../../ui/copy/snippets";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button } from "../../../ui/forms/Button";
import { EvaluationPicker } from "../shared/EvaluationPicker";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/Page";
import { ComparisonSummary } from "./ComparisonSummary";
import styles from "../evaluations.module.css";
import { compareCommand, comparePath, type FlipSearch } from "../filters";
import { FlipList } from "./FlipList";

const route = getRouteApi("/evaluations/compare");
const CONFLICT = 409;

interface BoardProps {
  search: FlipSearch;
  onChange: (changes: Changes<FlipSearch>) => void;
}

/** Two evaluations item by item: what was lost and gained, with both texts, and whether chance explains it. */
export function FlipBoardScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Changes<FlipSearch>): void => {
    void navigate({ search: withChanges<FlipSearch>(changes), replace: true });
  };
  const { base, other } = search;
  return (
    <Page
      title="Flip board"
      actions={<CopyAs snippets={snippets({ cli: compareCommand(search), path: comparePath(search) })} />}
    >
      <Pickers search={search} onChange={change} />
      {base === undefined || other === undefined ? (
        <NothingChosen />
      ) : (
        <Board base={base} other={other} search={search} onChange={change} />
      )}
    </Page>
  );
}

function Pickers({ search: { base, other }, onChange }: BoardProps): ReactElement {
  return (
    <div className={styles.pickers}>
      <EvaluationPicker
        label="Base"
        value={base ?? ""}
        onChange={(id) => {
          onChange({ base: id });
        }}
      />
      <Button
        onClick={() => {
          onChange({ base: other ?? "", other: base ?? "" });
        }}
      >
        Swap
      </Button>
      <EvaluationPicker
        label="Other"
        value={other ?? ""}
        onChange={(id) => {
          onChange({ other: id });
        }}
      />
    </div>
  );
}

function Board({ base, other, search, onChange }: BoardProps & { base: string; other: string }): ReactElement {
  const comparison = useQuery(comparisonQuery(base, other, search.different === true));
  if (comparison.isPending) return <Loading what="Comparing item by item…" />;
  if (comparison.isError) {
    const isConflict = comparison.error instanceof ApiError && comparison.error.status === CONFLICT;
    return (
      <>
        <ErrorNotice
          error={comparison.error}
          title={isConflict ? "These two are not comparable as they are" : "The two could not be compared"}
          onRetry={() => void comparison.refetch()}
        />
        {isConflict && !search.different ? (
          <Button
            onClick={() => {
              onChange({ different: true });
            }}
          >
            Compare the questions that both have all the same
          </Button>
        ) : null}
      </>
    );
  }
  return (
    <>
      <ComparisonSummary comparison={comparison.data} />
      <FlipList comparison={comparison.data} search={search} onChange={onChange} />
    </>
  );
}

function NothingChosen(): ReactElement {
  return (
    <Empty title="Choose two evaluations">
      <p>
        Two means hide what happened. Here stands every item that one model answered right and the other wrong, with
        both texts, and whether so many flips could be chance. Both must be of the same eval set, asked in the same way.
      </p>
      <Command>tunix-rt compare RUN_A RUN_B</Command>
    </Empty>
  );
}
