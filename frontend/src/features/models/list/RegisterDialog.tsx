import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { registerRun, registrableRunsQuery } from "../queries";
import type { Run } from "../../../api/schema.gen";
import { Dialog } from "../../../ui/feedback/Dialog";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Button } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TextArea } from "../../../ui/forms/TextArea";
import { TextField } from "../../../ui/forms/TextField";
import { formatTime } from "../../../ui/display/format";
import styles from "../models.module.css";

interface RegisterDialogProps {
  /** The preselected run, or an empty string. */
  runId: string;
  isOpen: boolean;
  onClose: () => void;
}

/** Registers the weights of a successful run. */
export function RegisterDialog({ runId, isOpen, onClose }: RegisterDialogProps): ReactElement {
  return (
    <Dialog title="Register a run" isOpen={isOpen} onClose={onClose}>
      <RegisterForm runId={runId} />
    </Dialog>
  );
}

function RegisterForm({ runId }: { runId: string }): ReactElement {
  const [form, setForm] = useState({ name: "", run: runId, notes: "" });
  const runs = useQuery(registrableRunsQuery);
  const register = useRegistration();
  const change = (changes: Partial<typeof form>): void => {
    setForm({ ...form, ...changes });
  };
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        register.mutate(form);
      }}
    >
      <Select
        label="Run"
        help="successful runs, newest first"
        value={form.run}
        choices={runChoices(runs.data?.data ?? [], form.run)}
        onChange={(run) => {
          change({ run });
        }}
      />
      <TextField
        label="Model name"
        help="an existing name gets a new version"
        value={form.name}
        onChange={(name) => {
          change({ name });
        }}
      />
      <TextArea
        label="Notes"
        help="notes about this version"
        rows={3}
        value={form.notes}
        onChange={(notes) => {
          change({ notes });
        }}
      />
      {register.isError ? <ErrorNotice error={register.error} title="Could not register the run" /> : null}
      <div>
        <Button
          type="submit"
          kind="primary"
          isBusy={register.isPending}
          disabled={form.run === "" || form.name.trim() === ""}
        >
          Register run
        </Button>
      </div>
    </form>
  );
}

function runChoices(runs: readonly Run[], chosen: string): { value: string; label: string }[] {
  const isListed = chosen === "" || runs.some(({ run_id }) => run_id === chosen);
  return [
    ...(chosen === "" ? [{ value: "", label: "Choose a run" }] : []),
    ...(isListed ? [] : [{ value: chosen, label: chosen }]),
    ...runs.map((run) => ({
      value: run.run_id,
      label: `${run.run_id}: ${run.model} on ${run.dataset}, ${formatTime(run.finished_at)}`,
    })),
  ];
}

function useRegistration() {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ name, run, notes }: { name: string; run: string; notes: string }) =>
      registerRun(name.trim(), { source_run_id: run, description: notes }),
    onSuccess: async (version) => {
      await queryClient.invalidateQueries({ queryKey: ["models"] });
      await navigate({ to: "/models/versions/$versionId", params: { versionId: version.id } });
    },
  });
}
