import { api, unwrap } from "./client";
import type {
  BatchReceipt,
  LintReport,
  operations,
  StoredComparison,
  Trace,
  TraceDetail,
  TraceList,
  TraceReceipt,
  TraceScore,
} from "./schema.gen";

/** Filters and page of a list; all of them must hold. */
export type TraceQuery = NonNullable<operations["list_traces_api_traces_get"]["parameters"]["query"]>;

/** Store a trace; the very same trace is kept once (`created` is false then). */
export function createTrace(trace: Trace): Promise<TraceReceipt> {
  return unwrap(api.POST("/api/traces", { body: trace }));
}

/** Store up to 1,000 traces, all or none. */
export function createTraces(traces: Trace[]): Promise<BatchReceipt> {
  return unwrap(api.POST("/api/traces/batch", { body: traces }));
}

/**
 * A page of traces, newest first.
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

/** Two traces with their steps lined up. */
export function compareTraces(baseId: string, otherId: string): Promise<StoredComparison> {
  return unwrap(api.GET("/api/traces/compare", { params: { query: { base: baseId, other: otherId } } }));
}

/** Judge a stored trace by what its steps say, and keep the judgement. */
export function scoreTrace(traceId: string): Promise<TraceScore> {
  return unwrap(api.POST("/api/traces/{trace_id}/score", { params: { path: { trace_id: traceId } } }));
}

/** What the linter says of a trace that is not stored; nothing is kept. */
export function lintTrace(trace: Trace): Promise<LintReport> {
  return unwrap(api.POST("/api/traces/lint", { body: trace }));
}

/** Remove a trace; datasets built from it keep their copy. */
export async function deleteTrace(traceId: string): Promise<void> {
  await unwrap(api.DELETE("/api/traces/{trace_id}", { params: { path: { trace_id: traceId } } }));
}
