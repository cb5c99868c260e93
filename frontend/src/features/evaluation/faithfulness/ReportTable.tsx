import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Evaluation, FaithfulnessSummary } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { shellQuoted } from "../../../ui/copy/snippets";
import { formatAgo, formatNumber, formatTime } from "../../../ui/display/format";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { estimate } from "../detail/ScoresTab";
import { modelName } from "../shared/format";
import { faithfulnessListQuery } from "./queries";

/** The reports, one row each. */
export function ReportTable({ reports }: { reports: readonly FaithfulnessSummary[] }): ReactElement {
  return (
    <PlainTable
      name="Faithfulness reports"
      columns={[
        { header: "Model" },
        { header: "Eval set" },
        { header: "Trials", align: "end" },
        { header: "Follows an injected error" },
        { header: "Accepts wrong steps" },
        { header: "Measured" },
      ]}
      rows={reports.map((report) => ({ key: report.report_id, cells: cellsOf(report) }))}
    />
  );
}

function cellsOf({ report_id, setup, overall, created_at }: FaithfulnessSummary) {
  return [
    <Link key="model" to="/evaluations/faithfulness/$reportId" params={{ reportId: report_id }}>
      {modelName(setup.model)}
    </Link>,
    setup.evalset,
    formatNumber(overall.num_trials),
    estimate(overall.error.follows),
    estimate(overall.check.ritual),
    <time key="when" dateTime={created_at} title={formatTime(created_at)}>
      {formatAgo(created_at)}
    </time>,
  ];
}

export function NoReports({ model, evalset }: { model: string; evalset: string }): ReactElement {
  return (
    <Empty title="Not measured yet">
      <p>
        Do the reasoning steps determine the answer? A step of the model’s own reasoning is corrupted, removed or
        truncated, the model continues from there, and the new answer is compared with the original one.
      </p>
      <Command>{`tunix-rt eval faithfulness ${shellQuoted(model)} --eval-set ${shellQuoted(evalset)}`}</Command>
    </Empty>
  );
}

/** The reports about an evaluation's model. */
export function ModelReports({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const reports = useQuery(faithfulnessListQuery(evaluation.evaluation_id));
  if (reports.isPending) return <Loading what="Loading reports…" />;
  if (reports.isError) return <ErrorNotice error={reports.error} onRetry={() => void reports.refetch()} />;
  if (reports.data.data.length === 0) return <NoReports model={evaluation.model.name} evalset={evaluation.evalset} />;
  return <ReportTable reports={reports.data.data} />;
}
