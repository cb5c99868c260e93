import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { type ApiError, toApiError } from "../../api/errors";
import type { ChatRequest, NewPreference, Preference, PreferenceList, ServedModel } from "../../api/schema.gen";

/** Every model name that can be served: versions, aliases and finished runs. */
export const servedModelsQuery = queryOptions({
  queryKey: ["served"],
  queryFn: async (): Promise<ServedModel[]> => (await unwrap(api.GET("/v1/models"))).data,
});

/** Start a completion and return its stream of chunks. */
export async function openCompletion(request: ChatRequest, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const body = { ...request, stream: true, stream_options: { include_usage: true } };
  const { data, error, response } = await api.POST("/v1/chat/completions", { body, signal, parseAs: "stream" });
  if (!response.ok) throw completionError(error, response.status);
  return data as ReadableStream<Uint8Array>;
}

/** The error of a `/v1` response or of its stream. */
export function completionError(body: unknown, status: number): ApiError {
  const inner = typeof body === "object" && body !== null && "error" in body ? body.error : body;
  return toApiError(status, inner);
}

const NUM_SHOWN = 20;

/** The download path of all votes as preference pairs. */
export const PREFERENCES_FILE = "/api/preferences/export.jsonl";

/** The latest votes, and the tallies of all votes per pair of models. */
export const preferencesQuery = queryOptions({
  queryKey: ["preferences"],
  queryFn: (): Promise<PreferenceList> =>
    unwrap(api.GET("/api/preferences", { params: { query: { limit: NUM_SHOWN } } })),
});

/** Save which of two answers was preferred. */
export function savePreference(body: NewPreference): Promise<Preference> {
  return unwrap(api.POST("/api/preferences", { body }));
}

export async function removePreference(voteId: string): Promise<void> {
  await unwrap(api.DELETE("/api/preferences/{vote_id}", { params: { path: { vote_id: voteId } } }));
}
