import { afterEach, expect, test, vi } from "vitest";
import { freePort } from "../testing/server";
import { sumTrace } from "../testing/traces";
import { api, unwrap } from "./client";
import { ApiError, toApiError } from "./errors";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

test("an error has a message and a next step", async () => {
  const error = await unwrap(
    api.GET("/api/datasets/{dataset_key}", { params: { path: { dataset_key: "no-such-v1" } } }),
  ).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status: 404,
    code: "not-found",
    message: expect.stringContaining("no-such-v1") as string,
    nextStep: expect.stringMatching(/\w+/) as string,
  });
});

test("a validation error names the field", async () => {
  const refused = unwrap(api.POST("/api/traces", { body: { ...sumTrace(1, 2, "refused"), final_answer: "" } }));

  await expect(refused).rejects.toThrow("final_answer");
  await expect(refused).rejects.toMatchObject({ status: 422, code: "invalid-input" });
});

test("a foreign error body becomes an ApiError", () => {
  const error = toApiError(502, "<html>Bad gateway</html>");

  expect(error).toMatchObject({ status: 502, code: "http-error" });
  expect(error.message).toContain("502");
});

test("a missing server is reported as unreachable", async () => {
  vi.stubEnv("VITE_API_URL", `http://127.0.0.1:${await freePort()}`);
  vi.resetModules();
  const client = await import("./client");

  await expect(client.unwrap(client.api.GET("/api/traces"))).rejects.toMatchObject({ status: 0, code: "unreachable" });
});

test("a cancelled request throws AbortError", async () => {
  const cancelled = api.GET("/api/health", { signal: AbortSignal.abort() });

  await expect(cancelled).rejects.toMatchObject({ name: "AbortError" });
});
