import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { comparisonQuery } from "../queries";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button } from "../../../ui/forms/Button";
import { Page } from "../../../ui/Page";
import { ComparisonView } from "./ComparisonView";
import { TracePicker } from "./TracePicker";

const route = getRouteApi("/traces/compare");

/** Two traces side by side, with their steps aligned. The URL says which two. */
export function TraceCompareScreen(): ReactElement {
  const { base, other } = route.useSearch();
  const navigate = route.useNavigate();
  const pick = (nextBase: string, nextOther: string): void => {
    void navigate({ search: { base: nextBase, other: nextOther } });
  };
  if (base === undefined || other === undefined) {
    return (
      <Page title="Compare traces">
        <TracePicker base={base ?? ""} other={other ?? ""} onPick={pick} />
      </Page>
    );
  }
  const path = `/api/traces/compare?${new URLSearchParams({ base, other }).toString()}`;
  return (
    <Page
      title="Compare traces"
      actions={
        <>
          <CopyAs snippets={snippets({ cli: `tunix-rt traces compare ${base} ${other}`, path })} />
          <Button
            onClick={() => {
              pick(other, base);
            }}
          >
            Swap sides
          </Button>
        </>
      }
    >
      <Comparison base={base} other={other} />
    </Page>
  );
}

function Comparison({ base, other }: { base: string; other: string }): ReactElement {
  const comparison = useQuery(comparisonQuery(base, other));
  if (comparison.isPending) return <Loading what="Aligning the steps…" />;
  if (comparison.isError) {
    return (
      <ErrorNotice
        error={comparison.error}
        title="Could not compare the traces"
        onRetry={() => void comparison.refetch()}
      />
    );
  }
  return <ComparisonView {...comparison.data} />;
}
