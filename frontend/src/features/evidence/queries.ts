import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "../../api/client";
import type { Check, EvidenceManifest, EvidenceVerdict, PackBody } from "../../api/schema.gen";

/** The maximum page size. */
const NUM_RUNS_OFFERED = 100;
const MAX_BUNDLES = 100;

/** The bundles of this home, newest first. */
export const evidenceListQuery = queryOptions({
  queryKey: ["evidence", "list"],
  queryFn: () => unwrap(api.GET("/api/evidence", { params: { query: { limit: MAX_BUNDLES } } })),
});

/** One bundle with its files. */
export const evidenceQuery = (evidenceId: string) =>
  queryOptions({
    queryKey: ["evidence", "one", evidenceId],
    queryFn: (): Promise<EvidenceManifest> => unwrap(api.GET("/api/evidence/{evidence_id}", of(evidenceId))),
  });

/** Finished runs, which can be packed. */
export const packableRunsQuery = queryOptions({
  queryKey: ["runs", "packable"],
  queryFn: () =>
    unwrap(
      api.GET("/api/tunix/runs", {
        params: { query: { status: ["succeeded", "failed", "cancelled"], limit: NUM_RUNS_OFFERED } },
      }),
    ),
});

/** Pack the evidence of a run. */
export function packEvidence(body: PackBody): Promise<EvidenceManifest> {
  return unwrap(api.POST("/api/evidence/pack", { body }));
}

/** The progress of a verification. OpenAPI does not describe the lines of a streamed response. */
export interface VerifyProgress {
  checks: Check[];
  num_bytes: number;
  total_bytes: number;
}

/** Verify a bundle: hash, read, recompute and rescore. Calls `onProgress` during the verification. */
export async function verifyEvidence(
  evidenceId: string,
  onProgress: (progress: VerifyProgress) => void,
): Promise<EvidenceVerdict> {
  const request = api.POST("/api/evidence/{evidence_id}/verify/live", { ...of(evidenceId), parseAs: "stream" });
  const body = (await unwrap(request)) as ReadableStream<Uint8Array>;
  let last: VerifyProgress | EvidenceVerdict | undefined;
  for await (const line of linesOf(body)) {
    last = JSON.parse(line) as VerifyProgress | EvidenceVerdict;
    if ("num_bytes" in last) onProgress(last);
  }
  if (last === undefined || "num_bytes" in last)
    throw new Error("The connection closed before the verification finished.");
  return last;
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (text + piece.value).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}

/** The path to view a file of a bundle. */
export function evidenceFilePath(evidenceId: string, path: string): string {
  return `/api/evidence/${evidenceId}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** The download path of a bundle as a zip. */
export function evidenceDownloadPath(evidenceId: string): string {
  return `/api/evidence/${evidenceId}/download`;
}

function of(evidenceId: string) {
  return { params: { path: { evidence_id: evidenceId } } };
}
