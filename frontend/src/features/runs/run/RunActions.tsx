import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useMemo, useState } from "react";
import { actOnRun, removeRun, type RunAct } from "../queries";
import type { RunDetail } from "../../../api/schema.gen";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { useActions } from "../../../ui/navigation/actions";
import { actsOn, launchSearchOf, type OfferedAct } from "./actions";

interface RunActsProps {
  run: RunDetail;
  /** What this browser may do. */
  scope: string;
}

type Asking = "cancel" | "remove" | null;

/** What can be done with a run as it stands; what cannot be taken back is asked about. */
export function RunActs({ run, scope }: RunActsProps): ReactElement {
  const [asking, setAsking] = useState<Asking>(null);
  const act = useRunAct(run.run_id);
  const remove = useRemoval(run.run_id);
  const acts = useMemo(() => (scope === "read" ? [] : actsOn(run)), [run, scope]);
  const start = (offered: OfferedAct): void => {
    if (offered.act === "cancel") setAsking("cancel");
    else act.mutate(offered.act);
  };
  const duplicate = useDuplicate(run);
  useActions(useMemo(() => [{ label: "Duplicate this run", run: duplicate }], [duplicate]));
  return (
    <>
      {acts.map((offered) => (
        <Button
          key={offered.act}
          kind={offered.act === "resume" ? "primary" : "plain"}
          isBusy={act.isPending && act.variables === offered.act}
          title={offered.meaning}
          onClick={() => {
            start(offered);
          }}
        >
          {offered.label}
        </Button>
      ))}
      <Link
        to="/launch"
        search={launchSearchOf(run)}
        className={buttonClass(run.status === "succeeded" ? "primary" : "plain")}
      >
        Duplicate
      </Link>
      {scope === "admin" && !isHeldByWorker(run) ? (
        <Button
          kind="quiet"
          onClick={() => {
            setAsking("remove");
          }}
        >
          Delete…
        </Button>
      ) : null}
      <ActDialogs
        asking={asking}
        onCancelRun={() => {
          act.mutate("cancel");
        }}
        onRemove={() => {
          remove.mutate();
        }}
        onClose={() => {
          setAsking(null);
        }}
      />
    </>
  );
}

interface ActDialogsProps {
  asking: Asking;
  onCancelRun: () => void;
  onRemove: () => void;
  onClose: () => void;
}

function ActDialogs({ asking, onCancelRun, onRemove, onClose }: ActDialogsProps): ReactElement {
  return (
    <>
      <ConfirmDialog
        title="Cancel this run?"
        isOpen={asking === "cancel"}
        confirmLabel="Cancel the run"
        isDangerous
        onConfirm={onCancelRun}
        onClose={onClose}
      >
        It stops with a checkpoint, and can be resumed from there. Nothing that it has written is lost.
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete this run?"
        isOpen={asking === "remove"}
        confirmLabel="Delete the run"
        isDangerous
        onConfirm={onRemove}
        onClose={onClose}
      >
        Its checkpoints, its model, its log and its metrics are lost. Evaluations and registered models stay.
      </ConfirmDialog>
    </>
  );
}

function isHeldByWorker({ status }: RunDetail): boolean {
  return status === "running" || status === "cancelling";
}

function useDuplicate(run: RunDetail): () => void {
  const navigate = useNavigate();
  return useMemo(() => () => void navigate({ to: "/launch", search: launchSearchOf(run) }), [navigate, run]);
}

function useRunAct(runId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (act: RunAct) => actOnRun(runId, act),
    onSuccess: async (run) => {
      queryClient.setQueryData(["runs", runId], run);
      await queryClient.invalidateQueries({ queryKey: ["runs"] });
    },
    onError: showError,
  });
}

function useRemoval(runId: string) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => removeRun(runId),
    onSuccess: async () => {
      showToast(`Deleted: ${runId}`);
      await navigate({ to: "/runs" });
      queryClient.removeQueries({ queryKey: ["runs", runId] });
      await queryClient.invalidateQueries({ queryKey: ["runs"] });
    },
    onError: showError,
  });
}
