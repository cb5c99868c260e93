import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useMemo, useState } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { useActions } from "../../../ui/navigation/actions";
import { performRunAction, removeRun, type RunAction } from "../queries";

interface RunActionsProps {
  run: RunDetail;
  /** The scope of this session. */
  scope: string;
}

type OpenDialog = "cancel" | "remove" | null;

/** The available actions of a run. Destructive ones ask for confirmation. */
export function RunActions({ run, scope }: RunActionsProps): ReactElement {
  const [openDialog, setConfirming] = useState<OpenDialog>(null);
  const action = useRunAction(run.run_id);
  const remove = useDeleteRun(run.run_id);
  const actions = useMemo(() => (scope === "read" ? [] : availableActions(run)), [run, scope]);
  const start = (option: ActionOption): void => {
    if (option.action === "cancel") setConfirming("cancel");
    else action.mutate(option.action);
  };
  const duplicate = useDuplicate(run);
  useActions(useMemo(() => [{ label: "Duplicate this run", run: duplicate }], [duplicate]));
  return (
    <>
      {actions.map((option) => (
        <Button
          key={option.action}
          kind={option.action === "resume" ? "primary" : "plain"}
          isBusy={action.isPending && action.variables === option.action}
          title={option.meaning}
          onClick={() => {
            start(option);
          }}
        >
          {option.label}
        </Button>
      ))}
      <Link
        to="/launch"
        search={launchSearchOf(run)}
        className={buttonClass(run.status === "succeeded" ? "primary" : "plain")}
      >
        Duplicate
      </Link>
      {scope === "admin" && !isOnWorker(run) ? (
        <Button
          kind="quiet"
          onClick={() => {
            setConfirming("remove");
          }}
        >
          Delete…
        </Button>
      ) : null}
      <ActionDialogs
        openDialog={openDialog}
        onCancelRun={() => {
          action.mutate("cancel");
        }}
        onRemove={() => {
          remove.mutate();
        }}
        onClose={() => {
          setConfirming(null);
        }}
      />
    </>
  );
}

interface ActionDialogsProps {
  openDialog: OpenDialog;
  onCancelRun: () => void;
  onRemove: () => void;
  onClose: () => void;
}

function ActionDialogs({ openDialog, onCancelRun, onRemove, onClose }: ActionDialogsProps): ReactElement {
  return (
    <>
      <ConfirmDialog
        title="Cancel this run?"
        isOpen={openDialog === "cancel"}
        confirmLabel="Cancel run"
        dismissLabel="Keep running"
        isDangerous
        onConfirm={onCancelRun}
        onClose={onClose}
      >
        The run saves a checkpoint and stops. It can be resumed from there, and no files are lost.
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete this run?"
        isOpen={openDialog === "remove"}
        confirmLabel="Delete run"
        isDangerous
        onConfirm={onRemove}
        onClose={onClose}
      >
        This deletes its checkpoints, model, log and metrics. Evaluations and registered models stay.
      </ConfirmDialog>
    </>
  );
}

function isOnWorker({ status }: RunDetail): boolean {
  return status === "running" || status === "cancelling";
}

function useDuplicate(run: RunDetail): () => void {
  const navigate = useNavigate();
  return useMemo(() => () => void navigate({ to: "/launch", search: launchSearchOf(run) }), [navigate, run]);
}

function useRunAction(runId: string) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (action: RunAction) => performRunAction(runId, action),
    onSuccess: async (run) => {
      queryClient.setQueryData(["runs", runId], run);
      await queryClient.invalidateQueries({ queryKey: ["runs"] });
    },
    onError: showError,
  });
}

function useDeleteRun(runId: string) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => removeRun(runId),
    onSuccess: async () => {
      showToast(`Deleted ${runId}.`);
      await navigate({ to: "/runs" });
      queryClient.removeQueries({ queryKey: ["runs", runId] });
      await queryClient.invalidateQueries({ queryKey: ["runs"] });
    },
    onError: showError,
  });
}

interface ActionOption {
  action: RunAction;
  label: string;
  meaning: string;
}

const CANCEL: ActionOption = { action: "cancel", label: "Cancel…", meaning: "Save a checkpoint and stop the run" };
const PAUSE: ActionOption = { action: "pause", label: "Pause", meaning: "Save a checkpoint and pause until resumed" };
const RESUME: ActionOption = { action: "resume", label: "Resume", meaning: "Continue from the last checkpoint" };

/** The actions available in the current status. An unmanaged run must be stopped where it was started. */
function availableActions({ status, is_held, executor }: RunDetail): ActionOption[] {
  if (status === "cancelled" || status === "failed") return [RESUME];
  if (executor === "direct" || status === "succeeded") return [];
  if (status === "queued") return is_held ? [RESUME, CANCEL] : [PAUSE, CANCEL];
  return status === "running" ? [PAUSE, CANCEL] : [];
}

interface LaunchSearch {
  recipe?: string;
  from?: string;
  dataset?: string;
  target?: string;
  engine?: "auto" | "jax" | "torch";
  set?: string[];
  name?: string;
  evalset?: string;
  steps?: number;
}

/** The launch form for a duplicate: the original request, or the resolved recipe. */
function launchSearchOf({ run_id, request }: RunDetail): LaunchSearch {
  const { recipe, dataset, target, engine, overrides, name, eval_set, num_smoke_steps } = request;
  // A recipe file already has its overrides applied, so the resolved recipe is used.
  const isNamed = typeof recipe === "string";
  return {
    ...(isNamed ? { recipe } : { from: run_id }),
    ...(isNamed && dataset != null && { dataset }),
    ...(isNamed && overrides !== undefined && overrides.length > 0 && { set: overrides }),
    ...(isNamed && num_smoke_steps != null && { steps: num_smoke_steps }),
    ...(target != null && target !== "local" && { target }),
    ...(engine !== undefined && engine !== "auto" && { engine }),
    ...(name != null && { name }),
    ...(eval_set != null && { evalset: eval_set }),
  };
}
