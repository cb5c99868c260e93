import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import type {
  Comparison,
  EvaluatedItem,
  Evaluation,
  EvaluationList,
  Leaderboard,
  operations,
  PredictionList,
} from "../../api/schema.gen";

/** Filters, order and page of a list of evaluations. */
export type EvaluationQuery = NonNullable<operations["list_evaluations_api_evaluations_get"]["parameters"]["query"]>;

/** Filters and page of the items of an evaluation. */
export type ItemQuery = NonNullable<
  operations["list_items_api_evaluations__evaluation_id__items_get"]["parameters"]["query"]
>;

export type LeaderboardQuery = NonNullable<
  operations["get_leaderboard_api_tunix_leaderboard_get"]["parameters"]["query"]
>;

/** The maximum page size. */
const MAX_CHOICES = 100;

/** A page of evaluations. */
export function listEvaluations(query: EvaluationQuery = {}): Promise<EvaluationList> {
  return unwrap(api.GET("/api/evaluations", { params: { query } }));
}

/** The newest evaluations, for selects. */
export const newestEvaluationsQuery = queryOptions({
  queryKey: ["evaluations", "newest"],
  queryFn: () => listEvaluations({ limit: MAX_CHOICES }),
});

/** The evaluations of a run's model, newest first. */
export const runEvaluationsQuery = (runId: string) =>
  queryOptions({
    queryKey: ["evaluations", "of-run", runId],
    queryFn: () => listEvaluations({ run_id: runId, limit: MAX_CHOICES }),
  });

/** One evaluation with its protocol and scores. Evaluations are immutable. */
export const evaluationQuery = (evaluationId: string) =>
  queryOptions({
    queryKey: ["evaluations", evaluationId],
    queryFn: (): Promise<Evaluation> =>
      unwrap(api.GET("/api/evaluations/{evaluation_id}", { params: { path: { evaluation_id: evaluationId } } })),
  });

/** A page of predictions. */
export function listItems(evaluationId: string, query: ItemQuery = {}): Promise<PredictionList> {
  const params = { path: { evaluation_id: evaluationId }, query };
  return unwrap(api.GET("/api/evaluations/{evaluation_id}/items", { params }));
}

/** The rows around an item in the filtered list. */
export const itemsAroundQuery = (evaluationId: string, query: ItemQuery) =>
  queryOptions({
    queryKey: ["evaluations", evaluationId, "around", query],
    queryFn: () => listItems(evaluationId, query),
  });

/** One item with all samples. */
export const itemQuery = (evaluationId: string, itemId: string) =>
  queryOptions({
    queryKey: ["evaluations", evaluationId, "items", itemId],
    queryFn: (): Promise<EvaluatedItem> => {
      const path = { evaluation_id: evaluationId, item_id: itemId };
      return unwrap(api.GET("/api/evaluations/{evaluation_id}/items/{item_id}", { params: { path } }));
    },
  });

/** The differences from `base` to `other`, item by item. */
export const comparisonQuery = (base: string, other: string, allowDifferentProtocols: boolean) =>
  queryOptions({
    queryKey: ["evaluations", "compare", base, other, allowDifferentProtocols],
    queryFn: (): Promise<Comparison> => {
      const query = { base, other, allow_different_protocols: allowDifferentProtocols };
      return unwrap(api.GET("/api/evaluations/compare", { params: { query } }));
    },
    retry: false,
  });

/** Models ranked within their evaluation protocol. */
export const leaderboardQuery = (query: LeaderboardQuery) =>
  queryOptions({
    queryKey: ["evaluations", "leaderboard", query],
    queryFn: (): Promise<Leaderboard> => unwrap(api.GET("/api/tunix/leaderboard", { params: { query } })),
  });

/** Score the stored completions with the current checkers, as a new evaluation. */
export function rescoreEvaluation(evaluationId: string): Promise<Evaluation> {
  const params = { path: { evaluation_id: evaluationId } };
  return unwrap(api.POST("/api/evaluations/{evaluation_id}/rescore", { params }));
}

export async function removeEvaluation(evaluationId: string): Promise<void> {
  await unwrap(api.DELETE("/api/evaluations/{evaluation_id}", { params: { path: { evaluation_id: evaluationId } } }));
}
