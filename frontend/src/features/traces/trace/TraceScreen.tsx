import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TraceDetail } from "../../../api/schema.gen";
import { traceQuery } from "../queries";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import { Page } from "../../../ui/Page";
import { DeleteTrace } from "./DeleteTrace";
import { LintCard } from "./LintCard";
import { ScoreBadge } from "../parts/ScoreBadge";
import { shortId } from "../parts/shortId";
import styles from "./trace.module.css";
import { TraceMetadata } from "./TraceMetadata";
import { TraceText } from "./TraceText";
import { VersionsCard } from "./VersionsCard";

const route = getRouteApi("/traces/$traceId");

/** One trace: its steps with the linter's findings, its metadata and its versions. */
export function TraceScreen(): ReactElement {
  const { traceId } = route.useParams();
  const trace = useQuery(traceQuery(traceId));
  const actions = (
    <>
      <CopyAs snippets={snippets({ cli: `tunix-rt traces show ${traceId}`, path: `/api/traces/${traceId}` })} />
      {trace.data ? <DeleteTrace traceId={traceId} /> : null}
      <Link to="/traces/$traceId/workbench" params={{ traceId }} className={buttonClass("primary")}>
        Review steps
      </Link>
    </>
  );
  return (
    <Page
      title={`Trace ${shortId(traceId)}`}
      aside={trace.data ? <ScoreBadge score={trace.data.score} /> : null}
      actions={actions}
    >
      {trace.isPending ? <Loading what="Loading trace…" /> : null}
      {trace.isError ? (
        <ErrorNotice error={trace.error} title="Could not load the trace" onRetry={() => void trace.refetch()} />
      ) : null}
      {trace.data ? <TraceView trace={trace.data} /> : null}
    </Page>
  );
}

function TraceView({ trace }: { trace: TraceDetail }): ReactElement {
  return (
    <div className={styles.columns}>
      <TraceText trace={trace} />
      <div className={styles.column}>
        <LintCard traceId={trace.id} />
        <TraceMetadata trace={trace} />
        <VersionsCard traceId={trace.id} />
      </div>
    </div>
  );
}
