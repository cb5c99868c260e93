import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { FaithfulnessSummary } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { shellQuoted } from "../../../ui/copy/snippets";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { modelName } from "../shared/words";
import { Empty } from "../../../ui/feedback/Empty";
import { formatAgo, formatNumber, formatTime } from "../../../ui/display/format";
import { estimate } from "../detail/ScoresTab";

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
