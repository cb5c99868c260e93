import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import type {
  EvaluatedModel,
  FaithfulnessList,
  FaithfulnessReport,
  FaithfulnessSummary,
} from "../../../api/schema.gen";

/** Every report, newest first, or those about the model of one evaluation. */
export const faithfulnessListQuery = (evaluationId?: string) =>
  queryOptions({
    queryKey: ["faithfulness", "list", evaluationId ?? null],
    queryFn: (): Promise<FaithfulnessList> => {
      if (evaluationId === undefined) return unwrap(api.GET("/api/faithfulness"));
      const params = { path: { evaluation_id: evaluationId } };
      return unwrap(api.GET("/api/evaluations/{evaluation_id}/faithfulness", { params }));
    },
  });

/** The newest report about a model, matched by weights hash, or by name if either hash is missing. */
export function newestReportOf(
  reports: readonly FaithfulnessSummary[],
  model: EvaluatedModel,
): FaithfulnessSummary | undefined {
  return reports.find(({ setup }) =>
    setup.model.weights_hash != null && model.weights_hash != null
      ? setup.model.weights_hash === model.weights_hash
      : setup.model.name === model.name && setup.model.origin === model.origin,
  );
}

/** One report with all trials. */
export const faithfulnessQuery = (reportId: string) =>
  queryOptions({
    queryKey: ["faithfulness", reportId],
    queryFn: (): Promise<FaithfulnessReport> =>
      unwrap(api.GET("/api/faithfulness/{report_id}", { params: { path: { report_id: reportId } } })),
  });
