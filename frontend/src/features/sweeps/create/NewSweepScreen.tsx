import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { NewTuningJob } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { performSweepAction, createJob, jobQuery } from "../queries";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { showError } from "../../../ui/feedback/toasts";
import { Button } from "../../../ui/forms/Button";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { BudgetCard } from "./BudgetCard";
import { GoalCard } from "./GoalCard";
import { SpaceEditor } from "./SpaceEditor";
import { jobOf, type OwnRecipe, problemOf, specText } from "./sweepText";
import type { Change, NewSweepSearch } from "../search";
import styles from "../sweeps.module.css";

const route = getRouteApi("/tuning/new");

/** The form for a new sweep. The server validates it before the first trial. */
export function NewSweepScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const session = useQuery(sessionQuery);
  const change: Change<NewSweepSearch> = (changes) => {
    void navigate({ search: withChanges<NewSweepSearch>(changes), replace: true });
  };
  const start = useStart();
  const own = useOwnRecipe(search);
  const job = jobOf(search, own.recipe);
  const problem = session.data?.scope === "read" ? "Your token is read-only." : (own.problem ?? problemOf(search));
  return (
    <Page
      title="New sweep"
      actions={
        <>
          <CopyAs snippets={snippets({ cli: commandOf(job), method: "POST", path: "/api/tuning/jobs", body: job })} />
          <Button
            kind="primary"
            isBusy={start.isPending}
            disabled={problem !== null}
            onClick={() => {
              start.mutate(job);
            }}
          >
            Start sweep
          </Button>
        </>
      }
    >
      <p role="status" className={styles.muted}>
        {problem ?? "All keys and range limits are validated against the recipe before the first trial."}
      </p>
      {start.isError ? <ErrorNotice error={start.error} title="Could not start the sweep" /> : null}
      <div className={styles.columns}>
        <div className={styles.stack}>
          <SpaceEditor search={search} change={change} />
          <BudgetCard search={search} change={change} />
        </div>
        <GoalCard search={search} change={change} />
      </div>
    </Page>
  );
}

/** The inline recipe of the sweep this one is copied from, unless another is selected. */
function useOwnRecipe({ like = "", recipe }: NewSweepSearch): { recipe?: OwnRecipe; problem: string | null } {
  const isWanted = like !== "" && recipe === undefined;
  const { data, error } = useQuery({ ...jobQuery(like), enabled: isWanted });
  if (!isWanted) return { problem: null };
  if (error) return { problem: `Could not load the recipe of ${like}: ${error.message} Choose a recipe.` };
  if (data === undefined) return { problem: `Loading the recipe of ${like}…` };
  return typeof data.spec.recipe === "string" ? { problem: null } : { recipe: data.spec.recipe, problem: null };
}

function useStart() {
  const queryClient = useQueryClient();
  const navigate = route.useNavigate();
  return useMutation({
    mutationFn: createJob,
    onSuccess: async ({ id }) => {
      // The sweep is saved at this point. If it cannot start, its page shows why and offers to start it again.
      await performSweepAction(id, "start").catch(showError);
      await queryClient.invalidateQueries({ queryKey: ["tuning"] });
      await navigate({ to: "/tuning/$jobId", params: { jobId: id } });
    },
  });
}

function commandOf(job: NewTuningJob): string {
  return `cat > sweep.yaml <<'EOF'\n${specText(job)}EOF\ntunix-rt tune sweep.yaml`;
}
