import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import type { DemoState, Pagination } from "../../api/schema.gen";

const POLL_MS = 4_000;
const DEMO_POLL_MS = 2_000;
const ONE = { params: { query: { limit: 1 } } };

/** Counts of everything in this home, and the items to continue with. */
export interface Inventory {
  numTraces: number;
  numDatasets: number;
  numRuns: number;
  numEvaluations: number;
  numModels: number;
  newestRun?: string | undefined;
  firstModel?: string | undefined;
}

export const inventoryQuery = queryOptions({
  queryKey: ["inventory"],
  queryFn: async (): Promise<Inventory> => {
    const lists = await Promise.all([
      unwrap(api.GET("/api/traces", ONE)),
      unwrap(api.GET("/api/datasets", ONE)),
      unwrap(api.GET("/api/tunix/runs", ONE)),
      unwrap(api.GET("/api/evaluations", ONE)),
      unwrap(api.GET("/api/models", ONE)),
    ]);
    const [numTraces, numDatasets, numRuns, numEvaluations, numModels] = lists.map(totalOf) as FiveNumbers;
    const newestRun = lists[2].data[0]?.run_id;
    const firstModel = lists[4].data[0]?.name;
    return { numTraces, numDatasets, numRuns, numEvaluations, numModels, newestRun, firstModel };
  },
  refetchInterval: POLL_MS,
});

type FiveNumbers = [number, number, number, number, number];

function totalOf(list: { pagination: Pagination }): number {
  return list.pagination.total;
}

/** The diagnosis of the server's machine. `isFresh` repeats it. */
export const doctorQuery = queryOptions({
  queryKey: ["doctor"],
  queryFn: () => examineMachine(),
  staleTime: Infinity,
});

export function examineMachine(isFresh = false) {
  return unwrap(api.GET("/api/doctor", { params: { query: { fresh: isFresh } } }));
}

/** The state of the demo project, polled while it is running. */
export const demoQuery = queryOptions({
  queryKey: ["demo"],
  queryFn: () => unwrap(api.GET("/api/demo")),
  refetchInterval: ({ state }) => (state.data?.status === "running" ? DEMO_POLL_MS : false),
});

export function makeDemo(): Promise<DemoState> {
  return unwrap(api.POST("/api/demo"));
}
