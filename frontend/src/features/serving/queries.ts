import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import { type ApiError, toApiError } from "../../api/errors";
import type { ChatRequest, ServedModel } from "../../api/schema.gen";

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
