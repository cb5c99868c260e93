import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import { listDatasets } from "../../datasets/queries";
import type { DatasetSummary, PlanRequest, RunDetail, RunPreview, RunRequest } from "../../../api/schema.gen";

/** The targets a plan can be made for, this machine first. */
export const targetsQuery = queryOptions({
  queryKey: ["targets"],
  queryFn: () => unwrap(api.GET("/api/tunix/targets")),
});

/** The named recipes. */
export const recipesQuery = queryOptions({
  queryKey: ["recipes"],
  queryFn: () => unwrap(api.GET("/api/tunix/recipes")),
});

/** Every recipe key with its allowed values, default and description. */
export const recipeSettingsQuery = queryOptions({
  queryKey: ["recipe-settings"],
  queryFn: () => unwrap(api.GET("/api/tunix/recipe-settings")),
  staleTime: Infinity,
});

/** The named eval sets. */
export const evalSetNamesQuery = queryOptions({
  queryKey: ["evalsets", "names"],
  queryFn: () => unwrap(api.GET("/api/evalsets")),
});

/** All datasets of this home, for selects. */
export const datasetKeysQuery = queryOptions({
  queryKey: ["datasets", "keys"],
  queryFn: () => everyDataset(),
});

const PAGE_SIZE = 100;

async function everyDataset(offset = 0): Promise<DatasetSummary[]> {
  const page = await listDatasets({ limit: PAGE_SIZE, offset });
  return page.data.length < PAGE_SIZE ? page.data : [...page.data, ...(await everyDataset(offset + PAGE_SIZE))];
}

/** The preview of a run: its plan and the changes that make it fit. Disabled for a null request. */
export const planQuery = (request: PlanRequest | null) =>
  queryOptions({
    queryKey: ["plans", request],
    queryFn: ({ signal }): Promise<RunPreview> => {
      if (request === null) throw new Error("Nothing to plan.");
      return unwrap(api.POST("/api/tunix/plans", { body: request, signal }));
    },
    enabled: request !== null,
  });

/** Validate, plan and queue a run. */
export function submitRun(request: RunRequest): Promise<RunDetail> {
  return unwrap(api.POST("/api/tunix/runs", { body: request }));
}
