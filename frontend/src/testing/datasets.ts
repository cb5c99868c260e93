import type {
  DatasetList,
  DatasetManifest,
  DatasetPreview,
  DatasetSummary,
  SplitStatistics,
  XrayReport,
} from "../api/schema.gen";

export function makeStatistics(changes: Partial<SplitStatistics> = {}): SplitStatistics {
  return {
    num_rows: 9,
    num_prompts: 8,
    num_prompts_with_several_answers: 1,
    steps: { mean: 2.5, p50: 2, p95: 4, max: 5 },
    chars: { mean: 220, p50: 210, p95: 380, max: 412 },
    num_scored: 9,
    sources: { gsm8k: 9 },
    categories: { arithmetic: 6, algebra: 3 },
    difficulties: { easy: 9 },
    ...changes,
  };
}

/** A clean dataset of ten rows in two splits, with overrides. */
export function makeManifest(changes: Partial<DatasetManifest> = {}): DatasetManifest {
  return {
    manifest_version: "1.0",
    dataset_key: "sums-v1",
    content_hash: "abababababababababababababababab",
    created_at: "2026-11-15T12:00:00Z",
    tool_version: "0.1.0",
    spec: {
      dataset_name: "sums",
      dataset_version: "v1",
      filters: { source: "gsm8k", min_score: 80 },
      splits: { train: 0.9, validation: 0.1 },
      dedup: "exact",
      seed: 0,
      selection_strategy: "latest",
      license: "mit",
    },
    num_considered: 12,
    num_rows: 10,
    removed: [
      {
        reason: "exact-duplicate",
        num_rows: 2,
        examples: [{ trace_id: "aaaaaaaa-0000-4000-8000-000000000001", because_of: "another-trace", similarity: 1 }],
      },
    ],
    splits: [
      { name: "train", sha256: "aa", num_bytes: 2_048, statistics: makeStatistics() },
      { name: "validation", sha256: "bb", num_bytes: 300, statistics: makeStatistics({ num_rows: 1, num_prompts: 1 }) },
    ],
    contamination: {
      evalsets: [{ name: "eval_v2", num_items: 100, sha256: "cc" }],
      verdict: "clean",
      num_overlapping_rows: 0,
      overlaps: [],
    },
    lineage: { parent: { dataset_key: "sums-v0", content_hash: "dd" } },
    card_sha256: "ee",
    warnings: ["In 'train', 1 questions have rows that disagree on the final answer."],
    ...changes,
  };
}

export function makeSummary(changes: Partial<DatasetSummary> = {}): DatasetSummary {
  const { dataset_key, content_hash, created_at, num_rows } = makeManifest();
  return { dataset_key, content_hash, created_at, num_rows, splits: { train: 9, validation: 1 }, ...changes };
}

/** A single page with these datasets. */
export function datasetList(data: DatasetSummary[], damaged: string[] = []): DatasetList {
  const total = data.length + damaged.length;
  return { data, damaged, pagination: { limit: 100, offset: 0, total, total_is_exact: true } };
}

export function makePreview(changes: Partial<DatasetPreview> = {}): DatasetPreview {
  return {
    dataset_key: "unnamed-v1",
    is_taken: false,
    num_matching: 12,
    matching_is_exact: true,
    num_unscored: 0,
    num_considered: 12,
    is_partial: false,
    num_rows: 10,
    removed: [{ reason: "exact-duplicate", num_rows: 2 }],
    splits: { train: 9, validation: 1 },
    num_overlapping_rows: 0,
    ...changes,
  };
}

/** Two examples packed into one row of eight tokens, with padding at the end. */
export function makeXray(changes: Partial<XrayReport> = {}): XrayReport {
  const example = [
    { id: 1, text: "2+2?", state: "masked", part: "prompt" },
    { id: 2, text: "two and two\n", state: "trained", part: "reasoning" },
    { id: 3, text: "4", state: "trained", part: "answer" },
  ] as const;
  return {
    passed: false,
    tokenizer: "tiny",
    tokenizer_fingerprint: "ff",
    template: "tiny",
    template_sha256: "gg",
    markup: "reasoning",
    loss_on: "completion",
    packed: true,
    row_length: 8,
    num_examples: 2,
    is_partial: false,
    num_rows: 1,
    num_tokens: 6,
    num_trained: 4,
    num_padding: 2,
    fill_ratio: 0.75,
    longest_example: 3,
    parts: [
      { part: "prompt", num_trained: 0, num_masked: 2 },
      { part: "answer", num_trained: 2, num_masked: 0 },
    ],
    findings: [
      {
        code: "truncated-answers",
        severity: "error",
        count: 1,
        share: 0.5,
        message: "The answer does not fit.",
        next_step: "Take longer rows.",
        examples: [1],
      },
    ],
    rows: [
      {
        tokens: [
          ...example,
          ...example,
          { id: 0, text: "", state: "padding", part: "padding" },
          { id: 0, text: "", state: "padding", part: "padding" },
        ],
        segments: [
          { example: 0, start: 0, end: 3, findings: [] },
          { example: 1, start: 3, end: 6, findings: ["truncated-answers"] },
        ],
      },
    ],
    ...changes,
  };
}
