import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RegressionCheck, StoredBaseline } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Button } from "../../../ui/forms/Button";
import { EvaluationPicker } from "../shared/EvaluationPicker";
import { formatPoints } from "../shared/format";
import styles from "./gates.module.css";
import { PassBadge } from "./HistoryTable";
import { checkRegression } from "./queries";

const route = getRouteApi("/gates/$name");

/** Checks an evaluation against the baseline and shows the result. */
export function CheckForm({ baseline }: { baseline: StoredBaseline }): ReactElement {
  const { evaluation = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const check = useMutation({
    mutationFn: () => checkRegression({ baseline_name: baseline.name, evaluation_id: evaluation }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["gates", "checks"] }),
  });
  return (
    <Card title="Check an evaluation">
      <div className={styles.form}>
        <EvaluationPicker
          label="Evaluation of the new model"
          help={`Evaluations on ${baseline.eval_set}, newest first.`}
          value={evaluation}
          fits={({ evalset, evaluation_id }) =>
            evalset === baseline.eval_set && evaluation_id !== baseline.evaluation_id
          }
          onChange={(id) => {
            check.reset();
            void navigate({ search: { evaluation: id }, replace: true });
          }}
        />
        <div>
          <Button
            kind="primary"
            isBusy={check.isPending}
            disabled={evaluation === ""}
            onClick={() => {
              check.mutate();
            }}
          >
            Check
          </Button>
        </div>
      </div>
      {check.isError ? <ErrorNotice error={check.error} title="The check failed to run" /> : null}
      {check.isSuccess ? <Verdict check={check.data} /> : null}
    </Card>
  );
}

function Verdict({ check }: { check: RegressionCheck }): ReactElement {
  const search = { base: check.baseline_evaluation_id, other: check.evaluation_id };
  return (
    <div role="status" className={styles.verdict}>
      <p className={styles.row}>
        <PassBadge passed={check.gate.passed} />
        <span>{check.gate.passed ? "It passes the gate." : "It fails the gate."}</span>
        <span>{formatPoints(check.delta)}</span>
        <Link to="/evaluations/compare" search={search}>
          View flips
        </Link>
      </p>
      {check.gate.reasons.length === 0 ? null : (
        <ul className={styles.rule}>
          {check.gate.reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
