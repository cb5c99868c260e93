import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { buildDataset } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { formatCount } from "../../../ui/display/format";
import styles from "./build.module.css";
import type { BuildForm } from "./form";
import { type BuildErrors, specOf } from "./spec";

interface BuildSubmitProps {
  form: BuildForm;
  errors: BuildErrors;
}

/** Builds the dataset described by the form, then opens it. */
export function BuildSubmit({ form, errors }: BuildSubmitProps): ReactElement {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const build = useMutation({
    mutationFn: () => buildDataset(specOf(form)),
    onSuccess: async ({ dataset_key, status, trace_count }) => {
      await queryClient.invalidateQueries({ queryKey: ["datasets"] });
      showToast(
        status === "created"
          ? `Built ${dataset_key} with ${formatCount(trace_count, "row")}.`
          : `${dataset_key} already exists with the same ${formatCount(trace_count, "row")}.`,
      );
      await navigate({ to: "/datasets/$datasetKey", params: { datasetKey: dataset_key } });
    },
  });
  const missing = missingInput(form, errors);
  return (
    <>
      {build.isError ? <ErrorNotice error={build.error} title="The dataset was not built" /> : null}
      <div className={styles.submit}>
        <Button
          kind="primary"
          isBusy={build.isPending}
          disabled={missing !== null}
          onClick={() => {
            build.mutate();
          }}
        >
          {build.isPending ? "Building…" : "Build dataset"}
        </Button>
        {missing === null ? null : <p className={styles.muted}>{missing}</p>}
      </div>
    </>
  );
}

function missingInput(form: BuildForm, errors: BuildErrors): string | null {
  if (Object.keys(errors).length > 0) return "Correct the invalid fields above.";
  return form.name === undefined ? "Enter a name." : null;
}
