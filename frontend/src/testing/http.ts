import { http, HttpResponse, type JsonBodyType, type RequestHandler } from "msw";
import { setupServer } from "msw/node";

/** The mock API for component tests. Unhandled requests fail the test. */
export const server = setupServer(
  answer("/api/session", { scope: "admin" }),
  answer("/api/tasks", { data: [], pagination: { limit: 20, offset: 0, total: 0, total_is_exact: true } }),
);

/**
 * Mocks a GET of the API.
 *
 * @example
 * server.use(answer("/api/tunix/runs", runList([run()])));
 */
export function answer(path: string, body: JsonBodyType, status = 200): RequestHandler {
  return http.get(path, () => HttpResponse.json(body, { status }));
}

/** Mocks a GET with an API error. */
export function refuse(path: string, status = 503, detail = "The database does not answer."): RequestHandler {
  return answer(path, { detail, next_step: "Look at the server's log.", code: "storage" }, status);
}

export { http, HttpResponse } from "msw";
