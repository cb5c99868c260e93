import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { TraceDetail } from "../../../api/schema.gen";
import { reviewTrace } from "../queries";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { useStored } from "../../../ui/hooks/useStored";
import { useCanWrite } from "../parts/useCanWrite";
import {
  type Draft,
  isEmptyDraft,
  readDraft,
  repairedTrace,
  reviewOf,
  type Verdict,
  withAnswer,
  withRestAccepted,
  withVerdict,
} from "./draft";

export interface Review {
  draft: Draft;
  /** The `i` of the step being edited, or null. */
  editing: number | null;
  canSave: boolean;
  isSaving: boolean;
  setVerdict: (i: number, verdict: Verdict | null, content?: string) => void;
  edit: (i: number | null) => void;
  setAnswer: (answer: string) => void;
  acceptRest: () => void;
  save: () => void;
}

/** The review of a trace in progress, results in the browser until it is saved. */
export function useReview({ id, payload }: TraceDetail): Review {
  const [stored, setStored] = useStored(`review.${id}`);
  const [editing, setEditing] = useState<number | null>(null);
  const draft = readDraft(stored);
  const storeDraft = (next: Draft): void => {
    setStored(isEmptyDraft(next) ? null : JSON.stringify(next));
  };
  const saving = useSaveReview(id, draft, () => {
    setStored(null);
  });
  const canSave = useCanWrite() && !isEmptyDraft(draft) && repairedTrace(payload, draft) !== null;
  return {
    draft,
    editing,
    canSave,
    isSaving: saving.isPending,
    setVerdict: (i, verdict, content) => {
      storeDraft(withVerdict(draft, payload, i, verdict, content));
      setEditing(null);
    },
    edit: setEditing,
    setAnswer: (answer) => {
      storeDraft(withAnswer(draft, payload, answer));
    },
    acceptRest: () => {
      storeDraft(withRestAccepted(draft, payload));
    },
    save: () => {
      if (canSave) saving.mutate();
    },
  };
}

function useSaveReview(traceId: string, draft: Draft, onSaved: () => void) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => reviewTrace(traceId, reviewOf(draft)),
    onSuccess: async (receipt) => {
      onSaved();
      showToast(`Saved as a new version with score ${receipt.score}.`);
      await queryClient.invalidateQueries({ queryKey: ["traces"] });
      await navigate({ to: "/traces/$traceId", params: { traceId: receipt.id } });
    },
    onError: showError,
  });
}
