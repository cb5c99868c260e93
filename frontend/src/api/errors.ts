import type { ErrorBody } from "./schema.gen";

/** What went wrong (`message`), what to do next, and a code that does not change. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly nextStep: string;
  readonly code: string;

  /** `status` is the HTTP status; 0 when there was no answer at all. */
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

/** The error that an answer carries; one that is not in our shape comes from something in between. */
export function toApiError(status: number, body: unknown): ApiError {
  if (isErrorBody(body)) return new ApiError(status, body);
  return new ApiError(status, {
    detail: `The answer was HTTP ${status} without an explanation.`,
    next_step: "Check what stands between here and the server, such as a proxy.",
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
