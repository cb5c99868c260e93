import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { formatCount } from "../../../ui/display/format";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showToast } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { buildDataset } from "../queries";
import styles from "./build.module.css";
import { BuildCounts } from "./BuildCounts";
import { ChooseTraces } from "./ChooseTraces";
import { CleanAndSplit } from "./CleanAndSplit";
import type { BuildChange, BuildForm } from "./form";
import { NameAndVersion } from "./NameAndVersion";
import { buildCommand, type BuildErrors, errorsOf, specOf } from "./spec";

const route = getRouteApi("/datasets/new");

/** The build form in three steps, beside live row counts. */
export function DatasetBuildScreen(): ReactElement {
  const form = route.useSearch();
  const navigate = route.useNavigate();
  const errors = errorsOf(form);
  const onChange = (changes: BuildChange): void => {
    void navigate({ search: withChanges<BuildForm>(changes), replace: true });
  };
  const spec = specOf(form);
  const copied = snippets({ cli: buildCommand(form), method: "POST", path: "/api/datasets/build", body: spec });
  return (
    <Page title="Build a dataset" actions={<CopyAs snippets={copied} />}>
      <div className={styles.wizard}>
        <div className={styles.steps}>
          <ChooseTraces form={form} errors={errors} onChange={onChange} />
          <CleanAndSplit form={form} errors={errors} onChange={onChange} />
          <NameAndVersion form={form} errors={errors} onChange={onChange} />
          <BuildSubmit form={form} errors={errors} />
        </div>
        <aside className={styles.counts} aria-label="Build preview">
          <BuildCounts spec={Object.keys(errors).length === 0 ? spec : null} onChange={onChange} />
        </aside>
      </div>
    </Page>
  );
}

interface BuildSubmitProps {
  form: BuildForm;
  errors: BuildErrors;
}

/** Builds the dataset described by the form, then opens it. */
function BuildSubmit({ form, errors }: BuildSubmitProps): ReactElement {
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
