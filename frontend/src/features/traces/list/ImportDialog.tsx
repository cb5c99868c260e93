import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, type ReactElement, useState } from "react";
import { importTraces } from "../queries";
import { Dialog } from "../../../ui/feedback/Dialog";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { Field } from "../../../ui/forms/Field";
import { TextField } from "../../../ui/forms/TextField";
import { formatCount } from "../../../ui/display/format";
import styles from "./list.module.css";

interface ImportDialogProps {
  isOpen: boolean;
  onClose: () => void;
}

/** Imports the traces of a file. Either every row is stored, or none and the invalid rows are listed. */
export function ImportDialog({ isOpen, onClose }: ImportDialogProps): ReactElement {
  return (
    <Dialog title="Import traces" isOpen={isOpen} onClose={onClose}>
      <ImportForm onDone={onClose} />
    </Dialog>
  );
}

function ImportForm({ onDone }: { onDone: () => void }): ReactElement {
  const queryClient = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [source, setSource] = useState("");
  const sending = useMutation({
    mutationFn: (chosen: File) => importTraces(chosen, source.trim()),
    onSuccess: async ({ report }) => {
      showToast(`Imported ${formatCount(report.num_imported, "trace")}; ${report.num_present} were already present.`);
      onDone();
      await queryClient.invalidateQueries({ queryKey: ["traces"] });
    },
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (file) sending.mutate(file);
  };
  return (
    <form onSubmit={submit} className={styles.form}>
      <Field
        label="File"
        help="JSONL, CSV, TSV or Parquet, optionally gzipped (.gz). The row format is detected automatically."
      >
        {(ids) => (
          <input
            {...ids}
            type="file"
            onChange={(event) => {
              setFile(event.target.files?.[0] ?? null);
            }}
          />
        )}
      </Field>
      <TextField
        label="Source"
        help="Stored with every trace. If empty, the source given in the row is used, otherwise the file name."
        value={source}
        onChange={setSource}
      />
      {sending.error ? <ErrorNotice error={sending.error} title="Nothing was imported" /> : null}
      <div className={styles.buttons}>
        <Button type="submit" kind="primary" disabled={file === null} isBusy={sending.isPending}>
          {sending.isPending ? "Importing…" : "Import"}
        </Button>
      </div>
    </form>
  );
}
