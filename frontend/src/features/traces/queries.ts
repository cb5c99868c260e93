import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { ApiError } from "../../api/errors";
import type {
  BatchReceipt,
  IngestReport,
  LintReport,
  operations,
  RevisionReceipt,
  ScoredTraces,
  StoredComparison,
  Trace,
  TraceDetail,
  TraceList,
  TraceReceipt,
  TraceReview,
  TraceScore,
} from "../../api/schema.gen";

/** Filters and page of a list. A trace must match all filters. */
export type TraceQuery = NonNullable<operations["list_traces_api_traces_get"]["parameters"]["query"]>;

export type TraceOrder = NonNullable<TraceQuery["order"]>;
/** The filters of a query, without its page and order. */
export type TraceFilters = Omit<TraceQuery, "limit" | "offset" | "order">;

/** Store a trace. An identical trace is stored only once (`created` is then false). */
export function createTrace(trace: Trace): Promise<TraceReceipt> {
  return unwrap(api.POST("/api/traces", { body: trace }));
}

/** Store up to 1,000 traces, all or none. */
export function createTraces(traces: Trace[]): Promise<BatchReceipt> {
  return unwrap(api.POST("/api/traces/batch", { body: traces }));
}

/**
 * A page of traces, newest first unless `order` says otherwise.
 *
 * @example
 * const { data } = await listTraces({ query: "train speed", min_score: 80, limit: 10 });
 */
export function listTraces(query: TraceQuery = {}): Promise<TraceList> {
  return unwrap(api.GET("/api/traces", { params: { query } }));
}

export function getTrace(traceId: string): Promise<TraceDetail> {
  return unwrap(api.GET("/api/traces/{trace_id}", { params: { path: { trace_id: traceId } } }));
}

/** Compare two traces with their steps aligned. */
export function compareTraces(baseId: string, otherId: string): Promise<StoredComparison> {
  return unwrap(api.GET("/api/traces/compare", { params: { query: { base: baseId, other: otherId } } }));
}

/** Lint a stored trace and save the score. */
export function scoreTrace(traceId: string): Promise<TraceScore> {
  return unwrap(api.POST("/api/traces/{trace_id}/score", { params: { path: { trace_id: traceId } } }));
}

/** Lint a trace that is not stored. Nothing is saved. */
export function lintTrace(trace: Trace): Promise<LintReport> {
  return unwrap(api.POST("/api/traces/lint", { body: trace }));
}

/** Delete a trace. Datasets built from it keep their copy. */
export async function deleteTrace(traceId: string): Promise<void> {
  await unwrap(api.DELETE("/api/traces/{trace_id}", { params: { path: { trace_id: traceId } } }));
}

/** Lint every trace that matches the filters and has not been linted. */
export function scoreTraces(filters: TraceFilters): Promise<ScoredTraces> {
  return unwrap(api.POST("/api/traces/score", { params: { query: filters } }));
}

/** Store the result of a review as a new version of the trace. */
export function reviewTrace(traceId: string, review: TraceReview): Promise<RevisionReceipt> {
  const params = { path: { trace_id: traceId } };
  return unwrap(api.POST("/api/traces/{trace_id}/revisions", { params, body: review }));
}

/** Import the traces of a file, all or none. Rows that name no source get `source`, or the file name if it is empty. */
export function importTraces(file: File, source: string): Promise<IngestReport> {
  const form = new FormData();
  form.set("file", file);
  if (source !== "") form.set("source_name", source);
  // The generated type describes the file as text, but the request sends the form.
  return unwrap(api.POST("/api/datasets/ingest", { body: { file: file.name }, bodySerializer: () => form }));
}

export const traceQuery = (traceId: string) =>
  queryOptions({ queryKey: ["traces", "one", traceId], queryFn: () => getTrace(traceId) });

/** The last lint report of a stored trace, or null if it has not been linted. */
export const reportQuery = (traceId: string) =>
  queryOptions({
    queryKey: ["traces", "report", traceId],
    queryFn: async (): Promise<LintReport | null> => {
      try {
        return await unwrap(api.GET("/api/traces/{trace_id}/report", { params: { path: { trace_id: traceId } } }));
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });

/** Every version of a trace, newest first. */
export const revisionsQuery = (traceId: string) =>
  queryOptions({
    queryKey: ["traces", "revisions", traceId],
    queryFn: () => unwrap(api.GET("/api/traces/{trace_id}/revisions", { params: { path: { trace_id: traceId } } })),
  });

export const comparisonQuery = (baseId: string, otherId: string) =>
  queryOptions({
    queryKey: ["traces", "comparison", baseId, otherId],
    queryFn: () => compareTraces(baseId, otherId),
  });

/** The lint report of an unsaved draft. Nothing is saved. */
export const draftReportQuery = (trace: Trace) =>
  queryOptions({ queryKey: ["lint", trace], queryFn: () => lintTrace(trace), staleTime: Infinity });

/** Every finding code of the linter. */
export const lintCodesQuery = queryOptions({
  queryKey: ["lint", "codes"],
  queryFn: () => unwrap(api.GET("/api/traces/lint/codes")),
  staleTime: Infinity,
});

/** The number of traces matching the filters that have not been linted. */
export const numUnscoredQuery = (filters: TraceFilters) =>
  queryOptions({
    queryKey: ["traces", "unscored", filters],
    queryFn: async () => (await listTraces({ ...filters, min_score: filters.min_score ?? 0, limit: 1 })).num_unscored,
  });
