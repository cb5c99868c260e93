import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, type SubmitEvent, useState } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { TextField } from "../../../ui/forms/TextField";
import { Page } from "../../../ui/layout/Page";
import { comparisonQuery } from "../queries";
import styles from "./compare.module.css";
import { ComparisonView } from "./ComparisonView";

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

interface TracePickerProps {
  base: string;
  other: string;
  onPick: (base: string, other: string) => void;
}

/** Asks for two traces when the URL does not name them. */
function TracePicker({ base, other, onPick }: TracePickerProps): ReactElement {
  const [baseId, setBaseId] = useState(base);
  const [otherId, setOtherId] = useState(other);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    onPick(baseId.trim(), otherId.trim());
  };
  return (
    <Empty
      title="Choose two traces"
      actions={
        <Link to="/traces" className={buttonClass()}>
          Choose from the list
        </Link>
      }
    >
      <p>
        Comparing two traces of the same prompt shows where they diverge. Select two rows in the list, or paste the
        trace ids here.
      </p>
      <form onSubmit={submit} className={styles.form}>
        <TextField label="First trace id" value={baseId} onChange={setBaseId} />
        <TextField label="Second trace id" value={otherId} onChange={setOtherId} />
        <div>
          <Button type="submit" kind="primary" disabled={baseId.trim() === "" || otherId.trim() === ""}>
            Compare
          </Button>
        </div>
      </form>
    </Empty>
  );
}
