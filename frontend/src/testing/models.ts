import type { ModelDetail, ModelVersion, VersionDetail } from "../api/schema.gen";
import { makeTrainedSummary } from "./evaluations";

export const VERSION_ID = "33333333-cccc-4ccc-8ccc-cccccccccccc";

/** A version trained by a run, with overrides. */
export function makeVersion(changes: Partial<ModelVersion> = {}): ModelVersion {
  return {
    id: VERSION_ID,
    model: "sums",
    version: 2,
    kind: "model",
    content_hash: "c".repeat(64),
    size_bytes: 2_097_152,
    num_files: 3,
    markup: "reasoning",
    notes: "",
    created_at: "2026-11-15T12:00:00Z",
    aliases: ["champion"],
    lineage: {
      run_id: "run-b",
      step: 200,
      is_checkpoint: false,
      recipe: "demo",
      engine: "jax",
      dataset: "sums-v1",
      base: { name: "tiny-gemma", weights: "random", seed: 7 },
    },
    ...changes,
  };
}

export function makeVersionDetail(changes: Partial<VersionDetail> = {}): VersionDetail {
  return { ...makeVersion(), evaluations: [makeTrainedSummary()], ...changes };
}

export function makeModel(changes: Partial<ModelDetail> = {}): ModelDetail {
  return {
    id: "44444444-dddd-4ddd-8ddd-dddddddddddd",
    name: "sums",
    created_at: "2026-11-15T12:00:00Z",
    updated_at: "2026-11-15T12:00:00Z",
    num_versions: 1,
    latest_version: 2,
    aliases: { champion: 2 },
    versions: [makeVersion()],
    ...changes,
  };
}
