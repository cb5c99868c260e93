import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { removeEvaluation, rescoreEvaluation } from "../queries";
import type { Evaluation } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";

/** The actions of an evaluation. */
export function EvaluationActions({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { data: session } = useQuery(sessionQuery);
  const { evaluation_id: id } = evaluation;
  return (
    <>
      <a className={buttonClass()} href={`/api/evaluations/${id}/samples.jsonl`} download>
        Download items
      </a>
      {session?.scope === "read" ? null : <Rescore evaluationId={id} />}
      {session?.scope === "admin" ? <Remove evaluationId={id} /> : null}
    </>
  );
}

function Rescore({ evaluationId }: { evaluationId: string }): ReactElement {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const rescore = useMutation({
    mutationFn: () => rescoreEvaluation(evaluationId),
    onSuccess: async ({ evaluation_id }) => {
      await queries.invalidateQueries({ queryKey: ["evaluations"] });
      showToast("Rescored with the current checkers. This is the new evaluation.");
      await navigate({ to: "/evaluations/$evaluationId", params: { evaluationId: evaluation_id } });
    },
    onError: showError,
  });
  return (
    <Button
      isBusy={rescore.isPending}
      title="Score the stored completions with the current extractor and checkers, as a new evaluation"
      onClick={() => {
        rescore.mutate();
      }}
    >
      Rescore
    </Button>
  );
}

function Remove({ evaluationId }: { evaluationId: string }): ReactElement {
  const [isConfirming, setConfirming] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => removeEvaluation(evaluationId),
    onSuccess: async () => {
      await navigate({ to: "/evaluations" });
      await queries.invalidateQueries({ queryKey: ["evaluations"] });
    },
    onError: showError,
  });
  return (
    <>
      <Button
        kind="danger"
        isBusy={remove.isPending}
        onClick={() => {
          setConfirming(true);
        }}
      >
        Delete
      </Button>
      <ConfirmDialog
        title="Delete this evaluation?"
        isOpen={isConfirming}
        confirmLabel="Delete evaluation"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={() => {
          setConfirming(false);
        }}
      >
        This deletes its scores and all completions. A run keeps its own copy.
      </ConfirmDialog>
    </>
  );
}
