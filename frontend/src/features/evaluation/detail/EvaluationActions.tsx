import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { removeEvaluation, rescoreEvaluation } from "../queries";
import type { Evaluation } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";

/** What can be done with an evaluation. */
export function EvaluationActs({ evaluation }: { evaluation: Evaluation }): ReactElement {
  const { data: session } = useQuery(sessionQuery);
  const { evaluation_id: id } = evaluation;
  return (
    <>
      <a className={buttonClass()} href={`/api/evaluations/${id}/samples.jsonl`} download>
        Download the items
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
      showToast("Scored again with the present checkers. This is the new evaluation.");
      await navigate({ to: "/evaluations/$evaluationId", params: { evaluationId: evaluation_id } });
    },
    onError: showError,
  });
  return (
    <Button
      isBusy={rescore.isPending}
      title="Judge the stored texts with the present extractor and checkers, as a new evaluation"
      onClick={() => {
        rescore.mutate();
      }}
    >
      Score again
    </Button>
  );
}

function Remove({ evaluationId }: { evaluationId: string }): ReactElement {
  const [isAsking, setAsking] = useState(false);
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
          setAsking(true);
        }}
      >
        Delete
      </Button>
      <ConfirmDialog
        title="Delete this evaluation?"
        isOpen={isAsking}
        confirmLabel="Delete the evaluation"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={() => {
          setAsking(false);
        }}
      >
        Its scores and every text that the model wrote are lost. A run keeps its own copy.
      </ConfirmDialog>
    </>
  );
}
