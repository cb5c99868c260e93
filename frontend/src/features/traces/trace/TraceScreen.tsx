import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useMemo, useState } from "react";
import type { TraceDetail } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Card } from "../../../ui/display/Card";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { Page } from "../../../ui/layout/Page";
import { FindingList } from "../parts/FindingList";
import { MarkedText } from "../parts/MarkedText";
import { groupFindings } from "../parts/marks";
import { ScoreBadge } from "../parts/ScoreBadge";
import { shortId, stepTitle } from "../parts/labels";
import { deleteTrace, reportQuery, traceQuery } from "../queries";
import { LintCard } from "./LintCard";
import styles from "./trace.module.css";
import { TraceMetadata } from "./TraceMetadata";
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

/** Prompt, steps and answer, each with its lint findings. */
function TraceText({ trace: { id, payload } }: { trace: TraceDetail }): ReactElement {
  const report = useQuery(reportQuery(id)).data;
  const grouped = useMemo(() => groupFindings(payload, report?.findings ?? []), [payload, report]);
  return (
    <div className={styles.column}>
      <Card title="Prompt">
        <MarkedText text={payload.prompt} findings={grouped.prompt} />
        <FindingList findings={grouped.prompt} />
      </Card>
      <ol className={styles.steps} aria-label="Steps">
        {payload.steps.map((step) => {
          const findings = grouped.steps.get(step.i) ?? [];
          return (
            <li key={step.i}>
              <Card title={stepTitle(step)}>
                <MarkedText text={step.content} findings={findings} />
                <FindingList findings={findings} />
              </Card>
            </li>
          );
        })}
      </ol>
      <Card title="Final answer">
        <MarkedText text={payload.final_answer} findings={grouped.answer} />
        <FindingList findings={grouped.answer} />
      </Card>
    </div>
  );
}

/** Deletes a trace after confirmation. Only shown to administrators. */
function DeleteTrace({ traceId }: { traceId: string }): ReactElement | null {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [isConfirming, setConfirming] = useState(false);
  const scope = useQuery(sessionQuery).data?.scope;
  const removal = useMutation({
    mutationFn: () => deleteTrace(traceId),
    onSuccess: async () => {
      showToast("Trace deleted.");
      await navigate({ to: "/traces" });
      await queryClient.invalidateQueries({ queryKey: ["traces", "list"] });
    },
    onError: showError,
  });
  if (scope !== "admin") return null;
  return (
    <>
      <Button
        kind="quiet"
        isBusy={removal.isPending}
        onClick={() => {
          setConfirming(true);
        }}
      >
        Delete…
      </Button>
      <ConfirmDialog
        title="Delete this trace?"
        isOpen={isConfirming}
        confirmLabel="Delete trace"
        isDangerous
        onConfirm={() => {
          removal.mutate();
        }}
        onClose={() => {
          setConfirming(false);
        }}
      >
        This cannot be undone. Datasets built from it keep their copy, but its reviews can no longer be exported.
      </ConfirmDialog>
    </>
  );
}
