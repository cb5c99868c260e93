import type { LintReport, StoredComparison, Trace, TraceDetail, TraceList, TraceRevision } from "../api/schema.gen";

export const TRACE_ID = "0f8fad5b-d9cb-869f-a165-70867728950e";
export const OTHER_ID = "7c9e6679-7425-80de-944b-e07fc1f90ae7";

/** A trace whose first step is wrong. */
export const WRONG_TRACE: Trace = {
  prompt: "What is 2 + 3? 🧮",
  steps: [
    { i: 0, type: "reasoning", content: "So 2 + 3 = 6." },
    { i: 1, type: "verify", content: "Let $x$ be 6." },
  ],
  final_answer: "6",
  meta: { source: "books", tags: ["easy"], nested: { deep: 1 } },
};

export const LINT_CODES = {
  data: [
    { code: "arithmetic-wrong", severity: "error", meaning: "A calculation is not right." },
    { code: "verification-empty", severity: "warning", meaning: "A step checks nothing." },
  ],
};

/** The lint report of that trace. */
export function lintReport(changes: Partial<LintReport> = {}): LintReport {
  return {
    linter_version: "1.0",
    score: 40,
    components: { arithmetic: 0.5, answer_follows: 0.8 },
    findings: [{ code: "arithmetic-wrong", step: 0, span: [3, 12], found: "2 + 3 = 6", expected: "5" }],
    ...changes,
  };
}

export function traceDetail(changes: Partial<TraceDetail> = {}): TraceDetail {
  return {
    id: TRACE_ID,
    created_at: "2026-11-15T12:00:00Z",
    trace_version: "1.0",
    score: 40,
    lint_codes: ["arithmetic-wrong"],
    payload: WRONG_TRACE,
    ...changes,
  };
}

/** A single page of traces with these prompts and scores. */
export function traceList(prompts: Record<string, number | null>): TraceList {
  const data = Object.entries(prompts).map(([prompt_start, score], index) => ({
    id: index === 0 ? TRACE_ID : OTHER_ID,
    created_at: "2026-11-15T12:00:00Z",
    trace_version: "1.0",
    prompt_start,
    num_steps: 2,
    source: index === 0 ? "books" : null,
    score,
  }));
  const pagination = { limit: 100, offset: 0, total: data.length, total_is_exact: true };
  return { data, pagination, num_unscored: data.filter(({ score }) => score === null).length };
}

export function traceRevision(changes: Partial<TraceRevision> = {}): TraceRevision {
  return {
    id: TRACE_ID,
    created_at: "2026-11-15T12:00:00Z",
    score: 40,
    num_steps: 2,
    final_answer: "6",
    revision_of: null,
    step_verdicts: {},
    ...changes,
  };
}

/** The wrong trace compared with one whose first step is fixed, second step removed and one step added. */
export function storedComparison(): StoredComparison {
  const [first, second] = WRONG_TRACE.steps as [Trace["steps"][0], Trace["steps"][0]];
  const right = { ...first, content: "So 2 + 3 = 5." };
  const added = { i: 2, type: "reasoning", content: "That is all." };
  return {
    base: traceDetail(),
    other: traceDetail({
      id: OTHER_ID,
      score: 100,
      payload: { ...WRONG_TRACE, steps: [right, added], final_answer: "5" },
    }),
    comparison: {
      same_prompt: true,
      same_answer: false,
      num_same_steps: 0,
      first_difference: 0,
      steps: [
        { kind: "changed", base: first, other: right, similarity: 0.75 },
        { kind: "removed", base: second, other: null, similarity: 0 },
        { kind: "added", base: null, other: added, similarity: 0 },
      ],
    },
  };
}
