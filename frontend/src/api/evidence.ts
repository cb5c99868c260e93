import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client";
import type { EvidenceManifest, EvidenceVerdict, PackBody } from "./schema.gen";

/** Which runs are offered to pack: as many as one page may have. */
const NUM_RUNS_OFFERED = 100;
const MAX_BUNDLES = 100;

/** The bundles of this home, newest first. */
export const evidenceListQuery = queryOptions({
  queryKey: ["evidence", "list"],
  queryFn: () => unwrap(api.GET("/api/evidence", { params: { query: { limit: MAX_BUNDLES } } })),
});

/** A bundle: every file and what it proves. */
export const evidenceQuery = (evidenceId: string) =>
  queryOptions({
    queryKey: ["evidence", "one", evidenceId],
    queryFn: (): Promise<EvidenceManifest> => unwrap(api.GET("/api/evidence/{evidence_id}", of(evidenceId))),
  });

/** Runs that have ended, and can therefore be packed. */
export const packableRunsQuery = queryOptions({
  queryKey: ["runs", "packable"],
  queryFn: () =>
    unwrap(
      api.GET("/api/tunix/runs", {
        params: { query: { status: ["succeeded", "failed", "cancelled"], limit: NUM_RUNS_OFFERED } },
      }),
    ),
});

/** Gather what proves a run. */
export function packEvidence(body: PackBody): Promise<EvidenceManifest> {
  return unwrap(api.POST("/api/evidence/pack", { body }));
}

/** Hash, read, recompute and score all of it again. */
export function verifyEvidence(evidenceId: string): Promise<EvidenceVerdict> {
  return unwrap(api.POST("/api/evidence/{evidence_id}/verify", of(evidenceId)));
}

/** Where a file of a bundle is looked at. */
export function evidenceFilePath(evidenceId: string, path: string): string {
  return `/api/evidence/${evidenceId}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Where a bundle is downloaded from, as a zip. */
export function evidenceDownloadPath(evidenceId: string): string {
  return `/api/evidence/${evidenceId}/download`;
}

function of(evidenceId: string) {
  return { params: { path: { evidence_id: evidenceId } } };
}
