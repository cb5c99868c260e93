import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { referenceOf, versionDownloadPath } from "../queries";
import type { ExportModel, VersionDetail } from "../../../api/schema.gen";
import { askForTask } from "../../runs/shared/tasks";
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
  { value: "merged", label: "A whole model, for transformers, vLLM and others" },
  { value: "adapter", label: "An adapter, as PEFT loads it" },
  { value: "zip", label: "The registered files, as one zip" },
];
const DTYPES: { value: Dtype; label: string }[] = [
  { value: "auto", label: "as the base model has them" },
  { value: "float32", label: "float32: rounds nothing" },
  { value: "bfloat16", label: "bfloat16: half the size" },
];

interface ExportTabProps {
  version: VersionDetail;
  mayWrite: boolean;
}

/** The version for other programs, each export with the verdict on whether it is the same model. */
export function ExportTab({ version, mayWrite }: ExportTabProps): ReactElement {
  return (
    <>
      {mayWrite ? (
        <Card title="Make an export">
          <ExportForm version={version} />
        </Card>
      ) : null}
      <Card title="Exports">
        <p>
          The registered and the exported model answer the same fixed questions. Only if they write the same tokens, one
          by one, is it the same model; the report lies in the export as <code>tunix_rt_export.json</code>.
        </p>
        <TaskList query={{ kind: "export", model: referenceOf(version), limit: 20 }} mayWrite={mayWrite} />
      </Card>
      <Card title="As it was registered, at once">
        <p>One zip with the card. Every byte is checked on its way: an archive that has an end is whole.</p>
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
        label="Form"
        value={form}
        choices={FORMS.filter(({ value }) => !(isWhole && value === "adapter"))}
        onChange={setForm}
      />
      {form === "merged" && !isWhole ? (
        <Select label="Weights" help="of the merged model" value={dtype} choices={DTYPES} onChange={setDtype} />
      ) : null}
      {ask.isError ? <ErrorNotice error={ask.error} title="It was not taken" /> : null}
      <p>A worker makes it and proves it; the same as a command:</p>
      <Command>{commandOf(version, form, dtype)}</Command>
      <div>
        <Button type="submit" kind="primary" isBusy={ask.isPending}>
          Export it
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
    mutationFn: (request: ExportModel) => askForTask(request),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ["tasks"] });
      showToast("The export is in the queue.");
    },
  });
}
