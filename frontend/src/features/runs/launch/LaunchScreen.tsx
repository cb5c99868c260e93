import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { recipesQuery, targetsQuery } from "../shared/plans";
import { runQuery } from "../queries";
import type { NamedRecipe, PlanTarget } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { LaunchPlan } from "./LaunchPlan";
import type { RecipeValues } from "./request";
import type { ChangeSearch, LaunchSearch } from "./search";

const TITLE = "Plan & launch";
const route = getRouteApi("/launch");

/** The launch screen: choose a recipe, dataset and target, check the plan, and launch. */
export function LaunchScreen(): ReactElement {
  const { from } = route.useSearch();
  return from === undefined ? <LaunchWith /> : <LaunchFromRun runId={from} />;
}

/** Launches again with the resolved recipe of a run. */
function LaunchFromRun({ runId }: { runId: string }): ReactElement {
  const run = useQuery({ ...runQuery(runId), refetchInterval: false });
  if (run.isPending) return <Loading what="Loading run…" />;
  if (run.isError)
    return <ErrorNotice error={run.error} title="Could not load the run" onRetry={() => void run.refetch()} />;
  return <LaunchWith values={run.data.recipe} />;
}

function LaunchWith({ values }: { values?: RecipeValues }): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const recipes = useQuery(recipesQuery);
  const targets = useQuery(targetsQuery);
  const change: ChangeSearch = (changes) => {
    void navigate({ search: withChanges<LaunchSearch>(changes), replace: true });
  };
  const error = recipes.error ?? targets.error;
  if (error) return <Failed error={error} onRetry={() => void Promise.all([recipes.refetch(), targets.refetch()])} />;
  if (recipes.data === undefined || targets.data === undefined)
    return (
      <Page title={TITLE}>
        <Loading what="Loading recipes and targets…" />
      </Page>
    );
  const choices: Choices = { recipes: recipes.data.data, targets: targets.data.data };
  return <LaunchPlan search={search} change={change} choices={choices} {...(values && { values })} />;
}

export interface Choices {
  recipes: NamedRecipe[];
  targets: PlanTarget[];
}

function Failed({ error, onRetry }: { error: Error; onRetry: () => void }): ReactElement {
  return (
    <Page title={TITLE}>
      <ErrorNotice error={error} title="Could not load the recipes" onRetry={onRetry} />
    </Page>
  );
}
