import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { LintReport } from "../../../api/schema.gen";
import { reportQuery, scoreTrace } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { formatCount, formatNumber, formatValue } from "../../../ui/display/format";
import { KeyValueList } from "../parts/KeyValueList";
import { useCanWrite } from "../parts/useCanWrite";

/** The linter's score with its factors, or a button to lint the trace. */
export function LintCard({ traceId }: { traceId: string }): ReactElement {
  const queryClient = useQueryClient();
  const canWrite = useCanWrite();
  const report = useQuery(reportQuery(traceId));
  const scoring = useMutation({
    mutationFn: () => scoreTrace(traceId),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ["traces"] }),
    onError: showError,
  });
  return (
    <Card title="Linter">
      {report.isPending ? <Loading what="Loading report…" /> : null}
      {report.isError ? <ErrorNotice error={report.error} onRetry={() => void report.refetch()} /> : null}
      {report.data ? <Report report={report.data} /> : null}
      {report.data === null ? (
        <p>This trace has not been linted. The linter reads the steps and checks their arithmetic.</p>
      ) : null}
      {report.isSuccess && canWrite ? (
        <div>
          <Button
            isBusy={scoring.isPending}
            onClick={() => {
              scoring.mutate();
            }}
          >
            {report.data === null ? "Lint" : "Lint again"}
          </Button>
        </div>
      ) : null}
    </Card>
  );
}

function Report({ report }: { report: LintReport }): ReactElement {
  const factors = Object.entries(report.components).map(([name, factor]) => [
    name.replaceAll("_", " "),
    formatValue(factor),
  ]);
  return (
    <>
      <p>
        Score <strong>{formatNumber(report.score, 1)}</strong> of 100, {formatCount(report.findings.length, "finding")}{" "}
        (linter {report.linter_version}). The score is 100 times these factors:
      </p>
      <KeyValueList entries={Object.fromEntries(factors) as Record<string, string>} />
    </>
  );
}
