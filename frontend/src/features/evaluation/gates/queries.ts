import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import type {
  BaselineList,
  GateCheckList,
  NewBaseline,
  RegressionCheck,
  RegressionRequest,
  StoredBaseline,
} from "../../../api/schema.gen";

/** The maximum page size. */
const MAX_CHECKS = 100;

/** Every baseline with its rule, by name. */
export const baselinesQuery = queryOptions({
  queryKey: ["gates", "baselines"],
  queryFn: (): Promise<BaselineList> => unwrap(api.GET("/api/regression/baselines")),
});

export const baselineQuery = (name: string) =>
  queryOptions({
    queryKey: ["gates", "baselines", name],
    queryFn: (): Promise<StoredBaseline> =>
      unwrap(api.GET("/api/regression/baselines/{name}", { params: { path: { name } } })),
  });

/** The newest checks, of one baseline or of all. */
export const checksQuery = (baseline?: string) =>
  queryOptions({
    queryKey: ["gates", "checks", baseline ?? null],
    queryFn: (): Promise<GateCheckList> =>
      unwrap(
        api.GET("/api/regression/checks", { params: { query: { limit: MAX_CHECKS, ...(baseline && { baseline }) } } }),
      ),
  });

/** Save an evaluation as a baseline with its rule. */
export function setBaseline(body: NewBaseline): Promise<StoredBaseline> {
  return unwrap(api.POST("/api/regression/baselines", { body }));
}

export async function removeBaseline(name: string): Promise<void> {
  await unwrap(api.DELETE("/api/regression/baselines/{name}", { params: { path: { name } } }));
}

/** Check an evaluation against a baseline. The result is added to its history. */
export function checkRegression(body: RegressionRequest): Promise<RegressionCheck> {
  return unwrap(api.POST("/api/regression/check", { body }));
}
