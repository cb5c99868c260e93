import { http, HttpResponse, type JsonBodyType, type RequestHandler } from "msw";
import { setupServer } from "msw/node";

/** Stands in for the API while components are tested: whoever asks for more than a test has answered fails. */
export const server = setupServer(
  answer("/api/session", { scope: "admin" }),
  answer("/api/tasks", { data: [], pagination: { limit: 20, offset: 0, total: 0, total_is_exact: true } }),
);

/**
 * Answer a GET of the API.
 *
 * @example
 * server.use(answer("/api/tunix/runs", runList([run()])));
 */
export function answer(path: string, body: JsonBodyType, status = 200): RequestHandler {
  return http.get(path, () => HttpResponse.json(body, { status }));
}

/** Answer a GET with an error in the one shape of the API. */
export function refuse(path: string, status = 503, detail = "The database does not answer."): RequestHandler {
  return answer(path, { detail, next_step: "Look at the server's log.", code: "storage" }, status);
}

export { http, HttpResponse } from "msw";
