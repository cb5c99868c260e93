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

/** Build what the form asks for, then show it. */
export function BuildSubmit({ form, errors }: BuildSubmitProps): ReactElement {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const build = useMutation({
    mutationFn: () => buildDataset(specOf(form)),
    onSuccess: async ({ dataset_key, status, trace_count }) => {
      await queryClient.invalidateQueries({ queryKey: ["datasets"] });
      showToast(
        status === "created"
          ? `${dataset_key} is built: ${formatCount(trace_count, "row")}.`
          : `${dataset_key} was there already, with the same ${formatCount(trace_count, "row")}.`,
      );
      await navigate({ to: "/datasets/$datasetKey", params: { datasetKey: dataset_key } });
    },
  });
  const missing = whatIsMissing(form, errors);
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
          {build.isPending ? "Building…" : "Build the dataset"}
        </Button>
        {missing === null ? null : <p className={styles.muted}>{missing}</p>}
      </div>
    </>
  );
}

function whatIsMissing(form: BuildForm, errors: BuildErrors): string | null {
  if (Object.keys(errors).length > 0) return "A field above needs another value.";
  return form.name === undefined ? "It still needs a name." : null;
}
