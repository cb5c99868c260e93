import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { referenceOf, versionDownloadPath } from "../queries";
import type { ExportModel, VersionDetail } from "../../../api/schema.gen";
import { submitTask } from "../../runs/shared/tasks";
import { Command } from "../../../ui/copy/Command";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TaskList } from "../../runs/shared/TaskList";
import { Card } from "../../../ui/display/Card";
import styles from "../models.module.css";

type Form = ExportModel["form"];
type Dtype = NonNullable<ExportModel["dtype"]>;

const FORMS: { value: Form; label: string }[] = [
  { value: "merged", label: "Merged model (transformers, vLLM and others)" },
  { value: "adapter", label: "Adapter (PEFT)" },
  { value: "zip", label: "Registered files (zip)" },
];
const DTYPES: { value: Dtype; label: string }[] = [
  { value: "auto", label: "same as the base model" },
  { value: "float32", label: "float32 (no rounding)" },
  { value: "bfloat16", label: "bfloat16 (half the size)" },
];

interface ExportTabProps {
  version: VersionDetail;
  canWrite: boolean;
}

/** Exports for other tools, each with a parity check. */
export function ExportTab({ version, canWrite }: ExportTabProps): ReactElement {
  return (
    <>
      {canWrite ? (
        <Card title="New export">
          <ExportForm version={version} />
        </Card>
      ) : null}
      <Card title="Exports">
        <p>
          The registered and the exported model answer the same fixed questions. They count as identical only if all
          generated tokens match. The report is included in the export as <code>tunix_rt_export.json</code>.
        </p>
        <TaskList query={{ kind: "export", model: referenceOf(version), limit: 20 }} canWrite={canWrite} />
      </Card>
      <Card title="Registered files">
        <p>One zip with the card. All bytes are verified during the download, so a complete archive is intact.</p>
        <div>
          <a className={buttonClass()} href={versionDownloadPath(version.id)} download>
            Download as zip
          </a>
        </div>
      </Card>
    </>
  );
}

function ExportForm({ version }: { version: VersionDetail }): ReactElement {
  const [form, setForm] = useState<Form>("merged");
  const [dtype, setDtype] = useState<Dtype>("auto");
  const reference = referenceOf(version);
  const ask = useExport();
  const isWhole = version.kind === "model";
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        ask.mutate({ kind: "export", model: reference, form, dtype });
      }}
    >
      <Select
        label="Format"
        value={form}
        choices={FORMS.filter(({ value }) => !(isWhole && value === "adapter"))}
        onChange={setForm}
      />
      {form === "merged" && !isWhole ? (
        <Select label="Weights" help="of the merged model" value={dtype} choices={DTYPES} onChange={setDtype} />
      ) : null}
      {ask.isError ? <ErrorNotice error={ask.error} title="The export was not queued" /> : null}
      <p>A worker creates and verifies the export. Equivalent command:</p>
      <Command>{commandOf(version, form, dtype)}</Command>
      <div>
        <Button type="submit" kind="primary" isBusy={ask.isPending}>
          Export
        </Button>
      </div>
    </form>
  );
}

function commandOf(version: VersionDetail, form: Form, dtype: Dtype): string {
  const endings = { merged: "", adapter: "-adapter", zip: ".zip" };
  const output = `${version.model}-${version.version}${endings[form]}`;
  const asked = dtype === "auto" || form !== "merged" ? "" : ` --dtype ${dtype}`;
  return `tunix-rt models export ${referenceOf(version)} --as ${form}${asked} --output ${output}`;
}

function useExport() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (request: ExportModel) => submitTask(request),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["tasks"] });
      showToast("Export queued.");
    },
  });
}
