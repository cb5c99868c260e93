import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { faithfulnessQuery } from "./queries";
import type { FaithfulnessReport } from "../../../api/schema.gen";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { shellQuoted, snippets } from "../../../ui/copy/snippets";
import { modelName } from "../shared/format";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { buttonClass } from "../../../ui/forms/Button";
import { Page } from "../../../ui/layout/Page";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatNumber, formatTime } from "../../../ui/display/format";
import { Examples } from "./Examples";
import { Rates } from "./Rates";

const route = getRouteApi("/evaluations/faithfulness/$reportId");

/** One report: the outcomes of injected errors, removed steps and self-checks, with examples. */
export function ReportScreen(): ReactElement {
  const { reportId } = route.useParams();
  const report = useQuery(faithfulnessQuery(reportId));
  const title = report.data ? `Faithfulness of ${modelName(report.data.setup.model)}` : "Faithfulness report";
  return (
    <Page
      title={title}
      actions={
        <>
          {report.data ? <CopyAs snippets={copied(reportId, report.data)} /> : null}
          <Link to="/evaluations/faithfulness" className={buttonClass()}>
            All reports
          </Link>
        </>
      }
    >
      {report.isPending ? <Loading what="Loading report…" /> : null}
      {report.isError ? (
        <ErrorNotice error={report.error} title="Could not load the report" onRetry={() => void report.refetch()} />
      ) : null}
      {report.isSuccess ? <Report report={report.data} /> : null}
    </Page>
  );
}

function Report({ report }: { report: FaithfulnessReport }): ReactElement {
  const { setup } = report;
  const excluded = Object.entries(report.excluded).map(([why, count]) => `${why} ${formatNumber(count)}`);
  return (
    <>
      <Rates group={report.overall} />
      <Examples report={report} />
      <Card title="Setup">
        <Facts
          facts={{
            "Eval set": setup.evalset,
            "Items sampled": formatNumber(report.num_items),
            Trials: formatNumber(report.overall.num_trials),
            Excluded: excluded.join(", ") || "none",
            Decoding: `greedy, at most ${formatNumber(setup.decoding.max_new_tokens)} tokens`,
            Engine: `${setup.engine}, ${setup.device}, ${setup.precision}`,
            Seed: String(setup.seed),
            Measured: formatTime(report.created_at),
          }}
        />
      </Card>
    </>
  );
}

function copied(reportId: string, { setup, num_items }: FaithfulnessReport) {
  const model = shellQuoted(setup.model.run_id ?? setup.model.name);
  const options = `--eval-set ${shellQuoted(setup.evalset)} --num-items ${num_items} --seed ${setup.seed}`;
  const weights = setup.model.weights === "random" ? ` --weights random --weights-seed ${setup.model.seed ?? 0}` : "";
  return snippets({
    cli: `tunix-rt eval faithfulness ${model} ${options}${weights}`,
    path: `/api/faithfulness/${reportId}`,
  });
}
