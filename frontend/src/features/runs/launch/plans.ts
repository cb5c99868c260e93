import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../../api/client";
import { listDatasets } from "../../datasets/queries";
import type { DatasetSummary, PlanRequest, RunDetail, RunPreview, RunRequest } from "../../../api/schema.gen";

/** The hardware that a plan can be for, this machine's own first. */
export const targetsQuery = queryOptions({
  queryKey: ["targets"],
  queryFn: () => unwrap(api.GET("/api/tunix/targets")),
});

/** The recipes that have a name. */
export const recipesQuery = queryOptions({
  queryKey: ["recipes"],
  queryFn: () => unwrap(api.GET("/api/tunix/recipes")),
});

/** Every key of a recipe: what it may be, its default and what it means. */
export const recipeSettingsQuery = queryOptions({
  queryKey: ["recipe-settings"],
  queryFn: () => unwrap(api.GET("/api/tunix/recipe-settings")),
  staleTime: Infinity,
});

/** The eval sets that have a name. */
export const evalSetNamesQuery = queryOptions({
  queryKey: ["evalsets", "names"],
  queryFn: () => unwrap(api.GET("/api/evalsets")),
});

/** The datasets of this home, to choose one from. */
export const datasetKeysQuery = queryOptions({
  queryKey: ["datasets", "keys"],
  queryFn: () => everyDataset(),
});

const PAGE_SIZE = 100;

async function everyDataset(offset = 0): Promise<DatasetSummary[]> {
  const page = await listDatasets({ limit: PAGE_SIZE, offset });
  return page.data.length < PAGE_SIZE ? page.data : [...page.data, ...(await everyDataset(offset + PAGE_SIZE))];
}

/** What a run would be, whether it fits and what would make it fit; a null request asks for nothing. */
export const planQuery = (request: PlanRequest | null) =>
  queryOptions({
    queryKey: ["plans", request],
    queryFn: ({ signal }): Promise<RunPreview> => {
      if (request === null) throw new Error("Nothing to plan.");
      return unwrap(api.POST("/api/tunix/plans", { body: request, signal }));
    },
    enabled: request !== null,
  });

/** Check and plan a run, and put it into the queue. */
export function submitRun(request: RunRequest): Promise<RunDetail> {
  return unwrap(api.POST("/api/tunix/runs", { body: request }));
}
