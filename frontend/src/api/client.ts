import createClient from "openapi-fetch";
import { ApiError, toApiError } from "./errors";
import type { paths } from "./schema.gen";

/** A typed client for every route. The base URL defaults to the origin that served the page. */
export const api = createClient<paths>({ baseUrl: import.meta.env.VITE_API_URL ?? "", fetch: fetchOrUnreachable });

interface ResponseLike<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/**
 * Returns the data of a response, or throws its `ApiError`.
 *
 * @example
 * const { status } = await unwrap(api.GET("/api/health"));
 */
export async function unwrap<Data>(request: Promise<ResponseLike<Data>>): Promise<Data> {
  const { data, error, response } = await request;
  if (!response.ok) throw toApiError(response.status, error);
  // A successful response has data: openapi-fetch types it per route.
  return data as Data;
}

async function fetchOrUnreachable(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    const body = {
      detail: "The server is not reachable.",
      next_step: "Start it with: tunix-rt up",
      code: "unreachable",
    };
    throw new ApiError(0, body, { cause });
  }
}
