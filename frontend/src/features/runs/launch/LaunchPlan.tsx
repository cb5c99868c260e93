import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useMemo, useState } from "react";
import { planQuery, submitRun } from "../shared/plans";
import type { PlanRequest, RunPreview } from "../../../api/schema.gen";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { useActions } from "../../../ui/navigation/actions";
import { Page } from "../../../ui/layout/Page";
import { ChoiceForm } from "./ChoiceForm";
import styles from "./launch.module.css";
import { PlanPanel } from "./PlanPanel";
import { planRequest, type RecipeValues, runRequest, submitCommand } from "./request";
import { RunNotes } from "./RunNotes";
import { type ChangeSearch, DEFAULT_TARGET, type LaunchSearch } from "./search";
import { SettingsCard } from "./SettingsCard";
import type { Choices } from "./LaunchScreen";

interface LaunchPlanProps {
  search: LaunchSearch;
  change: ChangeSearch;
  choices: Choices;
  /** The recipe of the source run. */
  values?: RecipeValues;
}

/** The launch form with its live plan and the submit button. */
export function LaunchPlan({ search, change, choices, values }: LaunchPlanProps): ReactElement {
  const target = choices.targets.find(({ name }) => name === (search.target ?? DEFAULT_TARGET));
  const request = runRequest(search, target?.platform ?? "cpu", values);
  const { plan, compile, isCompiling } = usePlan(planRequest(request, search.hours));
  const submit = useSubmit();
  const fits = plan.data?.plan?.fits === true || search.force === true;
  const canRun = plan.isSuccess && fits && plan.data?.dataset !== "";
  const run = (): void => {
    submit.mutate(request);
  };
  useResetAction();
  const copied = snippets({
    cli: submitCommand(request, values && search.from),
    method: "POST",
    path: "/api/tunix/runs",
    body: request,
  });
  return (
    <Page
      title="Plan & launch"
      about="Checks memory and training time before anything is downloaded."
      actions={
        <>
          <CopyAs snippets={copied} />
          <Button kind="primary" disabled={!canRun} isBusy={submit.isPending} onClick={run}>
            Launch run
          </Button>
        </>
      }
    >
      <div className={styles.columns}>
        <div className={styles.column}>
          <ChoiceForm {...{ search, change, choices }} isFromRun={values !== undefined} preview={plan.data} />
          <SettingsCard {...{ search, change }} preview={plan.data} />
        </div>
        <div className={styles.column}>
          <PlanPanel {...{ plan, compile, isCompiling, search, change }} />
          <RunNotes preview={plan.data} target={target} />
        </div>
      </div>
    </Page>
  );
}

function useResetAction(): void {
  const navigate = useNavigate();
  const actions = useMemo(
    () => [{ label: "Plan & launch: reset", run: () => void navigate({ to: "/launch", search: {} }) }],
    [navigate],
  );
  useActions(actions);
}

export interface PlanState {
  data: RunPreview | undefined;
  error: Error | null;
  isSuccess: boolean;
  /** Whether the plan shown is for the previous input. */
  isStale: boolean;
  refetch: () => void;
}

/** The estimated plan, and the compiled one on request. */
function usePlan(request: PlanRequest): { plan: PlanState; compile: () => void; isCompiling: boolean } {
  const [compiled, setCompiled] = useState("");
  const key = JSON.stringify(request);
  const estimate = useQuery({ ...planQuery(request), placeholderData: (previous) => previous });
  const exact = useQuery({
    ...planQuery(compiled === key ? { ...request, is_compiled: true } : null),
    staleTime: Infinity,
  });
  const shown = compiled === key && exact.data !== undefined ? exact : estimate;
  const error = estimate.error ?? (compiled === key ? exact.error : null);
  return {
    plan: {
      data: error ? undefined : shown.data,
      error,
      isSuccess: estimate.isSuccess && !estimate.isPlaceholderData,
      isStale: estimate.isPlaceholderData,
      refetch: () => void estimate.refetch(),
    },
    compile: () => {
      setCompiled(key);
    },
    isCompiling: compiled === key && exact.isFetching,
  };
}

function useSubmit() {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: submitRun,
    onSuccess: async (run) => {
      void queryClient.invalidateQueries({ queryKey: ["runs"] });
      await navigate({ to: "/runs/$runId", params: { runId: run.run_id } });
    },
    onError: showError,
  });
}
