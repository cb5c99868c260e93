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
import { Page } from "../../../ui/layout/Page";
import { ComparisonSummary } from "./ComparisonSummary";
import styles from "../evaluations.module.css";
import { compareCommand, comparePath, type ComparisonSearch } from "../filters";
import { FlipList } from "./FlipList";

const route = getRouteApi("/evaluations/compare");
const CONFLICT = 409;

interface BoardProps {
  search: ComparisonSearch;
  onChange: (changes: Changes<ComparisonSearch>) => void;
}

/** Two evaluations item by item: lost and gained items with both completions, and the significance of the difference. */
export function ComparisonScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changes: Changes<ComparisonSearch>): void => {
    void navigate({ search: withChanges<ComparisonSearch>(changes), replace: true });
  };
  const { base, other } = search;
  return (
    <Page
      title="Compare evaluations"
      actions={<CopyAs snippets={snippets({ cli: compareCommand(search), path: comparePath(search) })} />}
    >
      <Pickers search={search} onChange={change} />
      {base === undefined || other === undefined ? (
        <NoSelection />
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
  if (comparison.isPending) return <Loading what="Comparing items…" />;
  if (comparison.isError) {
    const isConflict = comparison.error instanceof ApiError && comparison.error.status === CONFLICT;
    return (
      <>
        <ErrorNotice
          error={comparison.error}
          title={isConflict ? "These evaluations are not comparable" : "Could not compare the evaluations"}
          onRetry={() => void comparison.refetch()}
        />
        {isConflict && !search.different ? (
          <Button
            onClick={() => {
              onChange({ different: true });
            }}
          >
            Compare shared questions anyway
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

function NoSelection(): ReactElement {
  return (
    <Empty title="Choose two evaluations">
      <p>
        Average scores hide what changed. This screen lists every item that one model answered correctly and the other
        did not, with both completions and a significance test. Both evaluations must use the same eval set and
        protocol.
      </p>
      <Command>tunix-rt compare RUN_A RUN_B</Command>
    </Empty>
  );
}
