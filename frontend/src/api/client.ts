import createClient from "openapi-fetch";
import { ApiError, toApiError } from "./errors";
import type { paths } from "./schema.gen";

/** Every route of the server, typed. Empty base: the server that sent the page. */
export const api = createClient<paths>({ baseUrl: import.meta.env.VITE_API_URL ?? "", fetch: reach });

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/**
 * The data of an answer, or the `ApiError` that it carries.
 *
 * @example
 * const { status } = await unwrap(api.GET("/api/health"));
 */
export async function unwrap<Data>(request: Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await request;
  if (!response.ok) throw toApiError(response.status, error);
  // An answer that is ok has data: openapi-fetch types it so, per route.
  return data as Data;
}

async function reach(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    const body = {
      detail: "The server does not answer.",
      next_step: "Start it with: tunix-rt up",
      code: "unreachable",
    };
    throw new ApiError(0, body, { cause });
  }
}
