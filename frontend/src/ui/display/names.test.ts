import { expect, test } from "vitest";
import { shortRunName } from "./names";

test("a run name omits the timestamp of its id", () => {
  expect(shortRunName("20261115-214717-rate-0-f5af")).toBe("rate-0-f5af");
  expect(shortRunName("smoke-1")).toBe("smoke-1");
});
