import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { isActive } from "../../runs/queries";
import type { TuningJobDetail } from "../../../api/schema.gen";
import { actOnJob, type JobAct, jobActs, removeJob } from "../queries";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";

interface JobActsProps {
  job: TuningJobDetail;
  /** What this browser may do. */
  scope: string;
}

const LABELS: Record<JobAct, string> = { start: "Start", cancel: "Cancel…", resume: "Resume" };

/** What can be done with a sweep as it stands. */
export function JobActs({ job, scope }: JobActsProps): ReactElement {
  const [asking, setAsking] = useState<"cancel" | "remove" | null>(null);
  const act = useJobAct(job.id);
  const remove = useRemoval(job.id);
  const close = (): void => {
    setAsking(null);
  };
  return (
    <>
      {(scope === "read" ? [] : jobActs(job)).map((offered) => (
        <Button
          key={offered}
          kind={offered === "cancel" ? "plain" : "primary"}
          isBusy={act.isPending && act.variables === offered}
          onClick={() => {
            if (offered === "cancel") setAsking("cancel");
            else act.mutate(offered);
          }}
        >
          {LABELS[offered]}
        </Button>
      ))}
      {scope === "admin" && !(isActive(job.status) && job.status !== "queued") ? (
        <Button
          kind="quiet"
          onClick={() => {
            setAsking("remove");
          }}
        >
          Delete…
        </Button>
      ) : null}
      <ConfirmDialog
        title="Cancel this sweep?"
        isOpen={asking === "cancel"}
        confirmLabel="Cancel the sweep"
        isDangerous
        onConfirm={() => {
          act.mutate("cancel");
        }}
        onClose={close}
      >
        Its trials stop with a checkpoint. It can be resumed and goes on from there.
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete this sweep?"
        isOpen={asking === "remove"}
        confirmLabel="Delete the sweep"
        isDangerous
        onConfirm={() => {
          remove.mutate();
        }}
        onClose={close}
      >
        What was searched and which trial was best is lost. The runs of its trials stay.
      </ConfirmDialog>
    </>
  );
}

function useJobAct(jobId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (act: JobAct) => actOnJob(jobId, act),
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
      showToast(`Deleted: ${jobId}`);
      await navigate({ to: "/tuning" });
      queryClient.removeQueries({ queryKey: ["tuning", jobId] });
      await queryClient.invalidateQueries({ queryKey: ["tuning"] });
    },
    onError: showError,
  });
}
