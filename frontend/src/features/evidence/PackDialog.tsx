import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { packableRunsQuery, packEvidence } from "./queries";
import type { Run } from "../../api/schema.gen";
import { Dialog } from "../../ui/feedback/Dialog";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Button } from "../../ui/forms/Button";
import { Checkbox } from "../../ui/forms/Checkbox";
import { Select } from "../../ui/forms/Select";
import styles from "./evidence.module.css";

interface PackDialogProps {
  /** The preselected run, or an empty string. */
  runId: string;
  isOpen: boolean;
  onClose: () => void;
}

/** Packs the evidence of a run. */
export function PackDialog({ runId, isOpen, onClose }: PackDialogProps): ReactElement {
  return (
    <Dialog title="Pack a run" isOpen={isOpen} onClose={onClose}>
      <PackForm runId={runId} />
    </Dialog>
  );
}

function PackForm({ runId }: { runId: string }): ReactElement {
  const [run, setRun] = useState(runId);
  const [hasModel, setHasModel] = useState(false);
  const [hasDataset, setHasDataset] = useState(true);
  const runs = useQuery(packableRunsQuery);
  const found = runs.data?.data ?? [];
  const hasFailed = found.some(({ run_id, status }) => run_id === run && status !== "succeeded");
  const pack = usePackEvidence();
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        pack.mutate({ run_id: run, has_model: hasModel, has_dataset: hasDataset, is_failure_report: hasFailed });
      }}
    >
      <Select
        label="Run"
        help="finished runs, newest first"
        value={run}
        choices={choicesOf(found, run)}
        onChange={setRun}
      />
      {hasFailed ? <p>This run did not succeed, so its bundle is marked as a failure report.</p> : null}
      <Checkbox
        label="Include the dataset rows; otherwise only their hashes are kept"
        isChecked={hasDataset}
        onChange={setHasDataset}
      />
      <Checkbox label="Include the trained weights" isChecked={hasModel} onChange={setHasModel} />
      {pack.isError ? <ErrorNotice error={pack.error} title="Could not pack the run" /> : null}
      <div>
        <Button type="submit" kind="primary" isBusy={pack.isPending} disabled={run === ""}>
          Pack run
        </Button>
      </div>
    </form>
  );
}

function choicesOf(runs: readonly Run[], chosen: string): { value: string; label: string }[] {
  const isListed = chosen === "" || runs.some(({ run_id }) => run_id === chosen);
  return [
    ...(chosen === "" ? [{ value: "", label: "Choose a run" }] : []),
    ...(isListed ? [] : [{ value: chosen, label: chosen }]),
    ...runs.map(({ run_id, status }) => ({ value: run_id, label: `${run_id} (${status})` })),
  ];
}

function usePackEvidence() {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: packEvidence,
    onSuccess: async ({ evidence_id }) => {
      await queryClient.invalidateQueries({ queryKey: ["evidence"] });
      await navigate({ to: "/evidence/$runId", params: { runId: evidence_id } });
    },
  });
}
