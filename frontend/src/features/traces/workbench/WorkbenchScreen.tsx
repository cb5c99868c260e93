import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { traceQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/layout/Page";
import { Workbench } from "./Workbench";

const route = getRouteApi("/traces/$traceId/workbench");

/** Review a trace step by step. The current step is in the URL; unsaved edits are results in the browser. */
export function WorkbenchScreen(): ReactElement {
  const { traceId } = route.useParams();
  const { step = 0 } = route.useSearch();
  // The URL updates slightly later, but the next key press must already apply to the next step.
  const [at, setAt] = useState(step);
  const navigate = route.useNavigate();
  const trace = useQuery(traceQuery(traceId));
  if (trace.data) {
    return (
      <Workbench
        key={traceId}
        trace={trace.data}
        at={Math.min(at, trace.data.payload.steps.length - 1)}
        onMove={(next) => {
          setAt(next);
          void navigate({ search: next === 0 ? {} : { step: next }, replace: true });
        }}
      />
    );
  }
  return (
    <Page title="Review steps">
      {trace.isError ? (
        <ErrorNotice error={trace.error} title="Could not load the trace" onRetry={() => void trace.refetch()} />
      ) : (
        <Loading what="Loading trace…" />
      )}
    </Page>
  );
}
