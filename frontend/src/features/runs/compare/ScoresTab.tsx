import { useQueries } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { runEvaluationsQuery } from "../../evaluation/queries";
import { Command } from "../../../ui/copy/Command";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Card } from "../../../ui/display/Card";
import { formatNumber } from "../../../ui/display/format";
import type { ComparedRun } from "./comparedRun";
import { MetricsCard } from "./MetricsCard";
import { ScoreGroupCard } from "./ScoreGroupCard";
import { scoreGroups } from "./scores";

/** The final metrics of the runs and the scores of their models. */
export function ScoresTab({ runs }: { runs: readonly ComparedRun[] }): ReactElement {
  return (
    <>
      <MetricsCard runs={runs} />
      <Scores runs={runs} />
    </>
  );
}

function Scores({ runs }: { runs: readonly ComparedRun[] }): ReactElement {
  const runIds = runs.map(({ run }) => run.run_id);
  const found = useQueries({ queries: runIds.map(runEvaluationsQuery) });
  const failed = found.find(({ isError }) => isError);
  if (failed?.error) return <ErrorNotice error={failed.error} onRetry={() => void failed.refetch()} />;
  if (found.some(({ isPending }) => isPending)) return <Loading what="Loading evaluations…" />;
  const evaluations = found.flatMap(({ data }) => data?.data ?? []);
  const without = runIds.filter((_, index) => found[index]?.data?.data.length === 0);
  return (
    <>
      {scoreGroups(runIds, evaluations).map((group) => (
        <ScoreGroupCard key={`${group.evalset} ${group.fingerprint}`} group={group} runs={runs} />
      ))}
      {without.length === 0 ? null : <NotEvaluated runIds={without} />}
    </>
  );
}

function NotEvaluated({ runIds }: { runIds: readonly string[] }): ReactElement {
  return (
    <Card title="Not evaluated">
      <p>
        {formatNumber(runIds.length)} of these runs {runIds.length === 1 ? "has" : "have"} no score. The loss measures
        the fit to the data; a score measures what the model can do:
      </p>
      <Command>{`tunix-rt eval ${runIds[0] ?? "RUN"} --eval-set eval_v2`}</Command>
    </Card>
  );
}
