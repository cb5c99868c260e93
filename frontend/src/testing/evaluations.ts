import type {
  Comparison,
  Estimate,
  Evaluation,
  EvaluationList,
  EvaluationSummary,
  Flip,
  GateCheck,
  GroupScores,
  PairedDifference,
  Prediction,
  PredictionList,
  StoredBaseline,
} from "../api/schema.gen";

export const BASE_ID = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
export const OTHER_ID = "22222222-bbbb-4bbb-8bbb-bbbbbbbbbbbb";

/** The summary of a base model evaluation, with overrides. */
export function makeSummary(changes: Partial<EvaluationSummary> = {}): EvaluationSummary {
  return {
    evaluation_id: BASE_ID,
    created_at: "2026-11-15T12:00:00Z",
    model: { name: "base-model", origin: "hub" },
    evalset: "exam",
    evalset_hash: "e".repeat(64),
    fingerprint: "f".repeat(64),
    num_items: 40,
    num_scored: 40,
    num_unscored: 0,
    primary_score: 0.5,
    low: 0.35,
    high: 0.65,
    format_adherence: 0.9,
    ...changes,
  };
}

/** The summary of an evaluation of a trained model. */
export function makeTrainedSummary(changes: Partial<EvaluationSummary> = {}): EvaluationSummary {
  const model = {
    name: "run-b",
    origin: "run" as const,
    run_id: "run-b",
    base_model: "base-model",
    dataset: "sums-v1",
  };
  return makeSummary({ evaluation_id: OTHER_ID, model, primary_score: 0.75, low: 0.6, high: 0.86, ...changes });
}

export function evaluationList(data: EvaluationSummary[]): EvaluationList {
  return { data, pagination: pageOf(data.length) };
}

export function makeEstimate(value = 0.5, n = 40): Estimate {
  return { value, low: Math.max(0, value - 0.1), high: Math.min(1, value + 0.1), n, method: "wilson" };
}

export function makeGroup(changes: Partial<GroupScores> = {}): GroupScores {
  return {
    num_items: 40,
    num_predictions: 40,
    num_scored: 40,
    num_unscored: 0,
    num_no_answer: 1,
    num_lenient: 0,
    num_cut_off: 2,
    num_steps: 80,
    accuracy: makeEstimate(),
    format_adherence: makeEstimate(0.9),
    reasoning_steps: { mean: 2, median: 2, p90: 3, n: 40 },
    pass_at: { "4": makeEstimate(0.8) },
    ...changes,
  };
}

export function makeEvaluation(changes: Partial<Evaluation> = {}): Evaluation {
  const { evaluation_id, created_at, model, evalset, fingerprint } = makeTrainedSummary();
  return {
    evaluation_id,
    created_at,
    tunix_rt_version: "0.1.0",
    model,
    evalset,
    num_items: 40,
    protocol: {
      evalset_hash: "e".repeat(64),
      template_hash: "c".repeat(64),
      markup: "reasoning",
      decoding: { temperature: 0, num_samples: 1, max_new_tokens: 256 },
      extraction: { rules: ["answer-tag"] },
      max_answer_chars: 10_000,
      versions: { extractor: "1" },
    },
    fingerprint,
    scores: {
      primary_score: 0.5,
      overall: makeGroup(),
      by_section: { core: makeGroup(), edge: makeGroup() },
      by_category: { addition: makeGroup() },
      by_difficulty: { easy: makeGroup() },
      failures: {},
      rules: { "answer-tag": 39 },
    },
    predictions_hash: "p".repeat(64),
    ...changes,
  };
}

/** A correct answer whose second step is wrong. */
export function makePrediction(changes: Partial<Prediction> = {}): Prediction {
  const item_id = changes.item_id ?? "item-1";
  return {
    item_id,
    prompt: "What is 9 + 9?",
    expected_answer: "18",
    section: "core",
    category: "addition",
    difficulty: "easy",
    generation: {
      item_id,
      text: "<reasoning>9 + 9 = 18</reasoning><answer>18</answer>",
      finish: "end-of-turn",
      num_new_tokens: 24,
      num_reasoning_tokens: 20,
    },
    judgement: {
      verdict: "correct",
      is_well_formed: true,
      steps: [
        { text: "9 + 9 = 18", verdict: "confirmed" },
        { text: "18 + 0 = 19", verdict: "broken" },
      ],
      answer: "18",
      rule: "answer-tag",
      checker: "number",
      explanation: "18 equals 18",
    },
    ...changes,
  };
}

export function predictionList(data: Prediction[]): PredictionList {
  return { data, pagination: pageOf(data.length) };
}

export function makePaired(changes: Partial<PairedDifference> = {}): PairedDifference {
  return {
    n: 40,
    num_unscored: 0,
    num_both_right: 18,
    num_both_wrong: 9,
    num_lost: 2,
    num_gained: 11,
    base: 0.5,
    other: 0.725,
    difference: 0.225,
    low: 0.05,
    high: 0.4,
    p_value: 0.022,
    ...changes,
  };
}

export function makeFlip(changes: Partial<Flip> = {}): Flip {
  return {
    item_id: "item-1",
    direction: "lost",
    section: "core",
    category: "addition",
    difficulty: "easy",
    prompt: "What is 9 + 9?",
    expected_answer: "18",
    base: { verdict: "correct", explanation: "18 equals 18", text: "It is 18.", answer: "18", rule: "answer-tag" },
    other: { verdict: "wrong", explanation: "17 is not 18", text: "It is 17.", answer: "17", rule: "answer-tag" },
    ...changes,
  };
}

export function makeComparison(changes: Partial<Comparison> = {}): Comparison {
  return {
    base_id: BASE_ID,
    other_id: OTHER_ID,
    base_name: "base-model",
    other_name: "run-b",
    evalset: "exam",
    is_same_protocol: true,
    protocol_differences: [],
    num_paired: 40,
    num_only_base: 0,
    num_only_other: 0,
    num_other_unscored: 0,
    overall: makePaired(),
    by_section: { core: makePaired(), edge: makePaired({ num_lost: 0, num_gained: 0, difference: 0, p_value: 1 }) },
    flips: [makeFlip(), makeFlip({ item_id: "item-2", direction: "gained", section: "edge", prompt: "Half of 8?" })],
    ...changes,
  };
}

export function makeBaseline(changes: Partial<StoredBaseline> = {}): StoredBaseline {
  return {
    name: "main",
    evaluation_id: BASE_ID,
    model_name: "base-model",
    metric: "primary_score",
    lower_is_better: false,
    baseline_value: 0.5,
    eval_set: "exam",
    rule: { alpha: 0.05, max_unscored: 0, protected_sections: ["core"] },
    created_at: "2026-11-15T12:00:00Z",
    ...changes,
  };
}

export function makeCheck(changes: Partial<GateCheck> = {}): GateCheck {
  return {
    checked_at: "2026-11-15T13:00:00Z",
    baseline_name: "main",
    baseline_evaluation_id: BASE_ID,
    evaluation_id: OTHER_ID,
    model_name: "run-b",
    evalset: "exam",
    passed: false,
    reasons: ["1 protected item is no longer right: item-1"],
    rule: { alpha: 0.05 },
    overall: makePaired(),
    ...changes,
  };
}

function pageOf(total: number) {
  return { limit: 100, offset: 0, total, total_is_exact: true };
}
