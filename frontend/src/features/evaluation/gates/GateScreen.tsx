import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { StoredBaseline } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { shellQuoted, snippets } from "../../../ui/copy/snippets";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatShare, formatTime, shortRunName } from "../../../ui/display/format";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { Page } from "../../../ui/layout/Page";
import { ruleSentences } from "../shared/format";
import { CheckForm } from "./CheckForm";
import styles from "./gates.module.css";
import { HistoryTable, PassBadge } from "./HistoryTable";
import { baselineQuery, checksQuery, removeBaseline } from "./queries";

const route = getRouteApi("/gates/$name");

/** One gate: its baseline and rule, a new check, and its history. */
export function GateScreen(): ReactElement {
  const { name } = route.useParams();
  const baseline = useQuery(baselineQuery(name));
  const checks = useQuery(checksQuery(name));
  const { data: session } = useQuery(sessionQuery);
  const last = checks.data?.data[0];
  const cli = `tunix-rt baselines history ${shellQuoted(name)}`;
  const path = `/api/regression/checks?baseline=${encodeURIComponent(name)}`;
  return (
    <Page
      title={`Gate ${name}`}
      aside={last ? <PassBadge passed={last.passed} /> : null}
      actions={
        <>
          <CopyAs snippets={snippets({ cli, path })} />
          {session?.scope === "admin" && baseline.isSuccess ? <DeleteBaseline name={name} /> : null}
        </>
      }
    >
      {baseline.isPending ? <Loading what="Loading baseline…" /> : null}
      {baseline.isError ? (
        <ErrorNotice
          error={baseline.error}
          title="Could not load the baseline"
          onRetry={() => void baseline.refetch()}
        />
      ) : null}
      {baseline.isSuccess ? <Baseline baseline={baseline.data} canCheck={session?.scope !== "read"} /> : null}
      {checks.isError ? <ErrorNotice error={checks.error} onRetry={() => void checks.refetch()} /> : null}
      {checks.isSuccess ? (
        <Card title="History">
          {checks.data.data.length === 0 ? (
            <p>No checks yet. Check an evaluation above, or run tunix-rt gate in CI.</p>
          ) : (
            <HistoryTable checks={checks.data.data} />
          )}
        </Card>
      ) : null}
    </Page>
  );
}

function Baseline({ baseline, canCheck }: { baseline: StoredBaseline; canCheck: boolean }): ReactElement {
  const { evaluation_id: evaluationId, rule } = baseline;
  return (
    <>
      <Card title="Rule">
        <ul className={styles.rule}>
          {ruleSentences(rule).map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
        <Facts
          facts={{
            Model: (
              <Link to="/evaluations/$evaluationId" params={{ evaluationId }}>
                {shortRunName(baseline.model_name)}
              </Link>
            ),
            "Eval set": baseline.eval_set,
            Accuracy: formatShare(baseline.baseline_value),
            "Trained on": baseline.dataset_key,
            Created: formatTime(baseline.created_at),
          }}
        />
      </Card>
      {canCheck ? <CheckForm baseline={baseline} /> : null}
    </>
  );
}

/** Deletes a baseline after confirmation. */
function DeleteBaseline({ name }: { name: string }): ReactElement {
  const [isConfirming, setConfirming] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => removeBaseline(name),
    onSuccess: async () => {
      await navigate({ to: "/gates" });
      await queries.invalidateQueries({ queryKey: ["gates"] });
    },
    onError: showError,
  });
  return (
    <>
      <Button
        kind="danger"
        isBusy={remove.isPending}
        onClick={() => {
          setConfirming(true);
        }}
      >
        Delete baseline
      </Button>
      <ConfirmDialog
        title={`Delete the baseline ${name}?`}
        isOpen={isConfirming}
        confirmLabel="Delete baseline"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={() => {
          setConfirming(false);
        }}
      >
        This deletes its rule. Its evaluation and past results stay.
      </ConfirmDialog>
    </>
  );
}
