import type { StepReview, Trace, TraceReview } from "../../../api/schema.gen";
import { shellQuoted } from "../../../ui/copy/snippets";

export type Verdict = StepReview["verdict"];

/** A review that has not been saved. */
export interface Draft {
  steps: Readonly<Record<number, { verdict: Verdict; content?: string }>>;
  /** Null if the answer is unchanged. */
  answer: string | null;
}

export const EMPTY_DRAFT: Draft = { steps: {}, answer: null };

/** The draft with a new verdict on a step, or without one if it is null. An edit that changes nothing accepts the step. */
export function withVerdict(draft: Draft, trace: Trace, i: number, verdict: Verdict | null, content?: string): Draft {
  const others = Object.entries(draft.steps).filter(([key]) => Number(key) !== i);
  const steps = Object.fromEntries(others) as Draft["steps"];
  if (verdict === null) return { ...draft, steps };
  const original = trace.steps.find((step) => step.i === i)?.content;
  if (verdict !== "edited" || content === undefined) return { ...draft, steps: { ...steps, [i]: { verdict } } };
  const isChanged = content.trim() !== "" && content !== original;
  const reviewed = isChanged ? { verdict, content } : { verdict: "accepted" as const };
  return { ...draft, steps: { ...steps, [i]: reviewed } };
}

export function withAnswer(draft: Draft, trace: Trace, answer: string): Draft {
  return { ...draft, answer: answer.trim() === "" || answer === trace.final_answer ? null : answer };
}

/** The draft with every step that has no verdict accepted. */
export function withRestAccepted(draft: Draft, trace: Trace): Draft {
  const accepted = trace.steps.map(({ i }) => [i, draft.steps[i] ?? { verdict: "accepted" as const }]);
  return { ...draft, steps: Object.fromEntries(accepted) as Draft["steps"] };
}

/** The review as a request body. */
export function reviewOf(draft: Draft): TraceReview {
  const steps = Object.entries(draft.steps).map(([i, reviewed]) => ({ i: Number(i), ...reviewed }));
  return draft.answer === null ? { steps } : { steps, final_answer: draft.answer };
}

/** The trace that results from the review, or null when no step would remain. */
export function repairedTrace(trace: Trace, draft: Draft): Trace | null {
  const results = trace.steps.filter(({ i }) => draft.steps[i]?.verdict !== "rejected");
  const steps = results.map((step) => ({ ...step, content: draft.steps[step.i]?.content ?? step.content }));
  return steps.length === 0 ? null : { ...trace, steps, final_answer: draft.answer ?? trace.final_answer };
}

export function numReviewed(draft: Draft): number {
  return Object.keys(draft.steps).length;
}

export function isEmptyDraft(draft: Draft): boolean {
  return numReviewed(draft) === 0 && draft.answer === null;
}

/** The review as a command. */
export function reviewCommand(traceId: string, draft: Draft): string {
  const options = Object.entries(draft.steps).map(([i, { verdict, content }]) => {
    if (verdict === "edited") return `--edit ${shellQuoted(`${i}=${content ?? ""}`)}`;
    return verdict === "accepted" ? `--accept ${i}` : `--reject ${i}`;
  });
  const answer = draft.answer === null ? [] : [`--answer ${shellQuoted(draft.answer)}`];
  return [`tunix-rt traces review ${traceId}`, ...options, ...answer].join(" ");
}

/** Reads a draft stored in the browser. An unreadable draft counts as empty. */
export function readDraft(stored: string | null): Draft {
  try {
    const read: unknown = JSON.parse(stored ?? "null");
    return isDraft(read) ? read : EMPTY_DRAFT;
  } catch {
    return EMPTY_DRAFT;
  }
}

function isDraft(read: unknown): read is Draft {
  return (
    typeof read === "object" && read !== null && "steps" in read && typeof read.steps === "object" && "answer" in read
  );
}
