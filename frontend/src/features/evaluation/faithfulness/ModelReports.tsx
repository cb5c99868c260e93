import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { faithfulnessListQuery } from "./queries";
import type { Evaluation } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { NoReports, ReportTable } from "./ReportTable";

/** The reports about an evaluation's model. */
export function ModelReports({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const reports = useQuery(faithfulnessListQuery(evaluation.evaluation_id));
  if (reports.isPending) return <Loading what="Loading reports…" />;
  if (reports.isError) return <ErrorNotice error={reports.error} onRetry={() => void reports.refetch()} />;
  if (reports.data.data.length === 0) return <NoReports model={evaluation.model.name} evalset={evaluation.evalset} />;
  return <ReportTable reports={reports.data.data} />;
}
