import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { useActions } from "../../../ui/navigation/actions";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/Page";
import { SelectedRuns } from "./SelectedRuns";
import { compareSnippets } from "./commands";
import { ComparedRuns } from "./ComparedRuns";
import { type ChangeCompare, type CompareSearch } from "./search";

const route = getRouteApi("/compare");
const NONE: string[] = [];

/** Compares any number of runs: curves, scores and differing settings. */
export function CompareScreen(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const runIds = search.run ?? NONE;
  const change: ChangeCompare = (changes) => {
    void navigate({ search: withChanges<CompareSearch>(changes), replace: true });
  };
  useActions(
    useMemo(
      () => [
        {
          label: "Select runs to compare",
          run: () => void navigate({ search: withChanges<CompareSearch>({ choose: true }), replace: true }),
        },
      ],
      [navigate],
    ),
  );
  return (
    <Page
      title="Compare runs"
      about="Overlaid curves, scores with confidence intervals, and the settings that differ."
      actions={<CopyAs snippets={compareSnippets(runIds, search.tab ?? "curves")} />}
    >
      <SelectedRuns runIds={runIds} search={search} change={change} />
      {runIds.length === 0 ? null : <ComparedRuns runIds={runIds} search={search} change={change} />}
    </Page>
  );
}
