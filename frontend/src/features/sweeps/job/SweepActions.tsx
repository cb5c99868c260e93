import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { isActive } from "../../runs/queries";
import type { TuningJobDetail } from "../../../api/schema.gen";
import { performSweepAction, type SweepAction, availableActions, removeJob } from "../queries";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

interface SweepActionsProps {
  job: TuningJobDetail;
  /** The scope of this session. */
  scope: string;
}

const LABELS: Record<SweepAction, string> = { start: "Start", cancel: "Cancel…", resume: "Resume" };

/** The available actions of a sweep. */
export function SweepActions({ job, scope }: SweepActionsProps): ReactElement {
  const [asking, setConfirming] = useState<"cancel" | "remove" | null>(null);
  const action = useSweepAction(job.id);
  const remove = useRemoval(job.id);
  const close = (): void => {
    setConfirming(null);
  };
  return (
    <>
      {(scope === "read" ? [] : availableActions(job)).map((option) => (
        <Button
          key={option}
          kind={option === "cancel" ? "plain" : "primary"}
          isBusy={action.isPending && action.variables === option}
          onClick={() => {
            if (option === "cancel") setConfirming("cancel");
            else action.mutate(option);
          }}
        >
          {LABELS[option]}
        </Button>
      ))}
      {scope === "admin" && !(isActive(job.status) && job.status !== "queued") ? (
        <Button
          kind="quiet"
          onClick={() => {
            setConfirming("remove");
          }}
        >
          Delete…
        </Button>
      ) : null}
      <ConfirmDialog
        title="Cancel this sweep?"
        isOpen={asking === "cancel"}
        confirmLabel="Cancel sweep"
        dismissLabel="Keep running"
        isDangerous
        onConfirm={() => {
          action.mutate("cancel");
        }}
        onClose={close}
      >
        Its trials save a checkpoint and stop. The sweep can be resumed from there.
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete this sweep?"
        isOpen={asking === "remove"}
        confirmLabel="Delete sweep"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={close}
      >
        This deletes its search space and results. The runs of its trials stay.
      </ConfirmDialog>
    </>
  );
}

function useSweepAction(jobId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (action: SweepAction) => performSweepAction(jobId, action),
    onSuccess: async ({ message }) => {
      showToast(message);
      await queryClient.invalidateQueries({ queryKey: ["tuning"] });
    },
    onError: showError,
  });
}

function useRemoval(jobId: string) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => removeJob(jobId),
    onSuccess: async () => {
      showToast(`Deleted ${jobId}.`);
      await navigate({ to: "/tuning" });
      queryClient.removeQueries({ queryKey: ["tuning", jobId] });
      await queryClient.invalidateQueries({ queryKey: ["tuning"] });
    },
    onError: showError,
  });
}
