import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { ApiError } from "../../api/errors";
import type {
  ModelDetail,
  ModelList,
  ModelVersion,
  Promotion,
  VersionDetail,
  VersionVerdict,
} from "../../api/schema.gen";

/** The maximum page size. */
const NUM_RUNS_OFFERED = 100;

/** A page of registered models by name. */
export function listModels(page: { limit?: number; offset?: number }): Promise<ModelList> {
  return unwrap(api.GET("/api/models", { params: { query: page } }));
}

/** A model with its versions, newest first. */
export const modelQuery = (model: string) =>
  queryOptions({
    queryKey: ["models", "one", model],
    queryFn: (): Promise<ModelDetail> => unwrap(api.GET("/api/models/{model}", { params: { path: { model } } })),
  });

/** A version with its content, lineage and evaluations. */
export const versionQuery = (versionId: string) =>
  queryOptions({
    queryKey: ["models", "versions", versionId],
    queryFn: (): Promise<VersionDetail> => unwrap(api.GET("/api/models/versions/{version_id}", of(versionId))),
  });

export const versionFilesQuery = (versionId: string) =>
  queryOptions({
    queryKey: ["models", "versions", versionId, "files"],
    queryFn: () => unwrap(api.GET("/api/models/versions/{version_id}/files", of(versionId))),
  });

/** The model card as Markdown. */
export const cardQuery = (versionId: string) =>
  queryOptions({
    queryKey: ["models", "versions", versionId, "card"],
    queryFn: (): Promise<string> =>
      unwrap(api.GET("/api/models/versions/{version_id}/card", { ...of(versionId), parseAs: "text" })),
  });

/** Runs whose weights can be registered, newest first. */
export const registrableRunsQuery = queryOptions({
  queryKey: ["runs", "registrable"],
  queryFn: () =>
    unwrap(api.GET("/api/tunix/runs", { params: { query: { status: ["succeeded"], limit: NUM_RUNS_OFFERED } } })),
});

/** Register the weights of a run. Creates the model if it does not exist. */
export async function registerRun(model: string, promotion: Promotion): Promise<ModelVersion> {
  try {
    await unwrap(api.POST("/api/models", { body: { name: model } }));
  } catch (error) {
    const isTaken = error instanceof ApiError && error.status === 409;
    if (!isTaken) throw error;
  }
  const path = { params: { path: { model } } };
  return unwrap(api.POST("/api/models/{model}/versions/promote", { ...path, body: promotion }));
}

/** Point an alias to a version atomically. */
export function setAlias(model: string, alias: string, version: number): Promise<ModelVersion> {
  const path = { params: { path: { model, alias } } };
  return unwrap(api.PUT("/api/models/{model}/aliases/{alias}", { ...path, body: { version } }));
}

export async function removeAlias(model: string, alias: string): Promise<void> {
  await unwrap(api.DELETE("/api/models/{model}/aliases/{alias}", { params: { path: { model, alias } } }));
}

export function setNotes(versionId: string, notes: string): Promise<ModelVersion> {
  return unwrap(api.PUT("/api/models/versions/{version_id}/notes", { ...of(versionId), body: { notes } }));
}

export function setTag(versionId: string, name: string, value: string): Promise<ModelVersion> {
  return unwrap(
    api.PUT("/api/models/versions/{version_id}/tags/{name}", { ...ofTag(versionId, name), body: { value } }),
  );
}

export async function removeTag(versionId: string, name: string): Promise<void> {
  await unwrap(api.DELETE("/api/models/versions/{version_id}/tags/{name}", ofTag(versionId, name)));
}

/** Read all files and compare them with the registered hashes. */
export function verifyVersion(versionId: string): Promise<VersionVerdict> {
  return unwrap(api.POST("/api/models/versions/{version_id}/verify", of(versionId)));
}

export async function removeVersion(versionId: string): Promise<void> {
  await unwrap(api.DELETE("/api/models/versions/{version_id}", of(versionId)));
}

/** The download path of the registered files as a zip. */
export function versionDownloadPath(versionId: string): string {
  return `/api/models/versions/${versionId}/download`;
}

/** The permanent reference of a version. */
export function referenceOf({ model, version }: Pick<ModelVersion, "model" | "version">): string {
  return `${model}:${version}`;
}

function of(versionId: string) {
  return { params: { path: { version_id: versionId } } };
}

function ofTag(versionId: string, name: string) {
  return { params: { path: { version_id: versionId, name } } };
}
