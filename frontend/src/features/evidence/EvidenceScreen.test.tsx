import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Check, EvidenceManifest, EvidenceRow } from "../../api/schema.gen";
import { answer, http, HttpResponse, refuse, server } from "../../testing/http";
import { renderApp } from "../../testing/render";
import { makeRun, runList } from "../../testing/runs";

const BUNDLE: EvidenceManifest = {
  evidence_id: "run-b",
  kind: "evidence",
  headline: "run-b answers 99.0 % right.",
  run_id: "run-b",
  status: "succeeded",
  created_at: "2026-11-15T12:00:00Z",
  tunix_rt_version: "0.1.0",
  files: [{ path: "dataset/train.jsonl", size_bytes: 10, sha256: "a".repeat(64), proves: "What was trained on." }],
  left_out: [{ path: "model/weights", sha256: "b".repeat(64), reason: "It is in the run's directory." }],
  content_hash: "c".repeat(64),
};
const { evidence_id, kind, headline, run_id, status, created_at } = BUNDLE;
const SHOWN = { evidence_id, kind, headline, run_id, status, created_at };
const ROW: EvidenceRow = { ...SHOWN, num_files: 1, size_bytes: 10, is_signed: false, content_hash: "c".repeat(64) };

function bundles(data: EvidenceRow[], damaged: string[] = []): void {
  const pagination = { limit: 100, offset: 0, total: data.length, total_is_exact: true };
  server.use(answer("/api/evidence", { data, damaged, pagination }));
}

function verdict(passed: boolean, checks: Check[]) {
  const shown = passed ? ["consistent", "not signed"] : [];
  const body = { passed, checked_at: created_at, tunix_rt_version: "0.1.0", bundle: "run-b", checks, shown };
  return http.post("/api/evidence/run-b/verify/live", () => HttpResponse.text(`${JSON.stringify(body)}\n`));
}

test("an empty list explains evidence bundles", async () => {
  bundles([]);
  renderApp("/evidence");
  await screen.findByRole("heading", { name: "No evidence yet" });
  screen.getByText("tunix-rt evidence pack RUN");
});

test("bundles are listed and damaged ones are named", async () => {
  bundles([ROW, { ...ROW, evidence_id: "run-c", kind: "failure-report", is_signed: true }], ["run-d"]);
  renderApp("/evidence");
  await screen.findByRole("row", { name: /run-b evidence run-b answers/ });
  screen.getByRole("row", { name: /run-c failure report .* signed/ });
  expect(screen.getByRole("alert").textContent).toContain("run-d");
});

test("a failed list shows an error", async () => {
  server.use(refuse("/api/evidence"));
  renderApp("/evidence");
  await screen.findByText("Could not load the bundles");
});

test("a failed run is packed as a failure report", async () => {
  bundles([]);
  let sent: unknown;
  server.use(
    answer("/api/tunix/runs", runList([makeRun({ run_id: "run-b", status: "failed" })])),
    answer("/api/evidence/run-b", BUNDLE),
    http.post("/api/evidence/pack", async ({ request }) => {
      sent = await request.json();
      return HttpResponse.json(BUNDLE, { status: 201 });
    }),
  );
  const { user, address } = renderApp("/evidence");
  await user.click(await screen.findByRole("button", { name: "Pack a run" }));
  await screen.findByRole("option", { name: "run-b (failed)" });
  await user.selectOptions(screen.getByLabelText("Run"), "run-b");
  screen.getByText(/marked as a failure report/);
  await user.click(screen.getByRole("checkbox", { name: "Include the trained weights" }));
  await user.click(screen.getByRole("button", { name: "Pack run" }));
  await waitFor(() => {
    expect(address()).toBe("/evidence/run-b");
  });
  expect(sent).toEqual({ run_id: "run-b", has_model: true, has_dataset: true, is_failure_report: true });
});

test("a bundle lists its files and checks", async () => {
  server.use(
    answer("/api/evidence/run-b", BUNDLE),
    verdict(true, [
      { name: "files", status: "passed", detail: "1 file" },
      { name: "signature", status: "skipped", detail: "It is not signed." },
    ]),
  );
  const { user } = renderApp("/evidence/run-b");
  const link = await screen.findByRole("link", { name: "dataset/train.jsonl" });
  expect(link.getAttribute("href")).toBe("/api/evidence/run-b/files/dataset/train.jsonl");
  screen.getByText("What was trained on.");
  await user.click(screen.getByRole("button", { name: "Verify" }));
  await screen.findByText("Verified: consistent, not signed");
  screen.getByRole("row", { name: /All files present.* passed 1 file/ });
  screen.getByRole("row", { name: /Signature valid skipped/ });
});

test("a long verification shows progress", async () => {
  let release = (): void => undefined;
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  const check = { name: "container", status: "passed", detail: "24 files" };
  const line = `${JSON.stringify({ checks: [check], num_bytes: 1024, total_bytes: 4096 })}\n`;
  const broken = new ReadableStream({
    start: async (controller) => {
      controller.enqueue(new TextEncoder().encode(line));
      await isReleased;
      controller.close();
    },
  });
  server.use(
    answer("/api/evidence/run-b", BUNDLE),
    http.post("/api/evidence/run-b/verify/live", () => new HttpResponse(broken)),
  );
  const { user } = renderApp("/evidence/run-b");
  await user.click(await screen.findByRole("button", { name: "Verify" }));
  await screen.findByText("1.00 KiB of 4.00 KiB hashed, 1 check done");
  screen.getByRole("row", { name: /Opens and contains.* passed 24 files/ });
  release();
  await screen.findByText("The connection closed before the verification finished.");
});

test("failed checks list their problems", async () => {
  const problems = [{ detail: "log.txt was changed.", next_step: "Pack the run again." }];
  server.use(
    answer("/api/evidence/run-b", BUNDLE),
    verdict(false, [{ name: "files", status: "failed", detail: "1 file", problems, num_problems: 3 }]),
  );
  const { user } = renderApp("/evidence/run-b");
  await user.click(await screen.findByRole("button", { name: "Verify" }));
  await screen.findByText("Verification failed: 1 check failed");
  screen.getByText("log.txt was changed. Pack the run again.");
  screen.getByText("and 2 more");
});

test("an unknown bundle shows an error", async () => {
  server.use(refuse("/api/evidence/nothing", 404, "There is no evidence 'nothing'."));
  renderApp("/evidence/nothing");
  await screen.findByText("There is no evidence 'nothing'.");
});
