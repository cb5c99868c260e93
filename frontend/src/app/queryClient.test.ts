import { MutationObserver, onlineManager } from "@tanstack/react-query";
import { afterEach, expect, test } from "vitest";
import { createQueryClient } from "./queryClient";

afterEach(() => {
  onlineManager.setOnline(true);
});

test("requests are sent while the browser reports offline", async () => {
  const client = createQueryClient();
  onlineManager.setOnline(false);

  const read = await client.query({ queryKey: ["runs"], queryFn: () => Promise.resolve("read") });
  const written = await new MutationObserver(client, { mutationFn: () => Promise.resolve("written") }).mutate();

  expect([read, written]).toEqual(["read", "written"]);
});
