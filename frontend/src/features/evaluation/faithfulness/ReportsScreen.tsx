import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { faithfulnessListQuery } from "./queries";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Page } from "../../../ui/layout/Page";
import { NoReports, ReportTable } from "./ReportTable";

const CLI = "tunix-rt eval faithfulness MODEL --eval-set demo_arithmetic_heldout";

/** Every report on whether answers depend on the reasoning steps. */
export function ReportsScreen(): ReactElement {
  const reports = useQuery(faithfulnessListQuery());
  return (
    <Page
      title="Faithfulness reports"
      actions={<CopyAs snippets={snippets({ cli: CLI, path: "/api/faithfulness" })} />}
    >
      {reports.isPending ? <Loading what="Loading reports…" /> : null}
      {reports.isError ? (
        <ErrorNotice error={reports.error} title="Could not load the reports" onRetry={() => void reports.refetch()} />
      ) : null}
      {reports.data?.data.length === 0 ? <NoReports model="MODEL" evalset="demo_arithmetic_heldout" /> : null}
      {reports.data && reports.data.data.length > 0 ? <ReportTable reports={reports.data.data} /> : null}
    </Page>
  );
}
