import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { traceQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/Page";
import { Workbench } from "./Workbench";

const route = getRouteApi("/traces/$traceId/workbench");

/** Judge a trace step by step; which step is at hand is in the URL, what is not saved stays in the browser. */
export function WorkbenchScreen(): ReactElement {
  const { traceId } = route.useParams();
  const { step = 0 } = route.useSearch();
  // The address follows a moment later: a key pressed at once must meet the next step already.
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
    <Page title="Review the steps">
      {trace.isError ? (
        <ErrorNotice error={trace.error} title="The trace could not be read" onRetry={() => void trace.refetch()} />
      ) : (
        <Loading what="Reading the trace…" />
      )}
    </Page>
  );
}
