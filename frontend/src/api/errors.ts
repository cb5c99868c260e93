import type { ErrorBody } from "./schema.gen";

/** An API error: what went wrong (`message`), what to do next, and a stable code. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly nextStep: string;
  readonly code: string;

  /** `status` is the HTTP status, or 0 when there was no response. */
  constructor(
    readonly status: number,
    body: ErrorBody,
    options?: ErrorOptions,
  ) {
    super(body.detail, options);
    this.nextStep = body.next_step;
    this.code = body.code;
  }
}

/** The error in a response body. A body in another format comes from something between the browser and the server. */
export function toApiError(status: number, body: unknown): ApiError {
  if (isErrorBody(body)) return new ApiError(status, body);
  return new ApiError(status, {
    detail: `The server returned HTTP ${status} without an error message.`,
    next_step: "Check anything between the browser and the server, such as a proxy.",
    code: "http-error",
  });
}

function isErrorBody(body: unknown): body is ErrorBody {
  const fields: (keyof ErrorBody)[] = ["detail", "next_step", "code"];
  return isRecord(body) && fields.every((field) => typeof body[field] === "string");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
