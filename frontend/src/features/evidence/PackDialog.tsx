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
  /** The run that is chosen at first; may be empty. */
  runId: string;
  isOpen: boolean;
  onClose: () => void;
}

/** Gathers what proves a run; what is missing is named. */
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
  const pack = usePacking();
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
        help="runs that have ended, newest first"
        value={run}
        choices={choicesOf(found, run)}
        onChange={setRun}
      />
      {hasFailed ? <p>This run did not succeed: its bundle is a failure report, and says so on its face.</p> : null}
      <Checkbox
        label="Put the rows of the dataset in; without them only their hashes stay"
        isChecked={hasDataset}
        onChange={setHasDataset}
      />
      <Checkbox label="Put the trained weights in" isChecked={hasModel} onChange={setHasModel} />
      {pack.isError ? <ErrorNotice error={pack.error} title="It was not packed" /> : null}
      <div>
        <Button type="submit" kind="primary" isBusy={pack.isPending} disabled={run === ""}>
          Pack the run
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

function usePacking() {
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
