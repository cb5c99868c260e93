import { useQueries } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useMemo } from "react";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { shellQuoted, type Snippets } from "../../../ui/copy/snippets";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { useActions } from "../../../ui/navigation/actions";
import { withChanges } from "../../../ui/navigation/search";
import { Page } from "../../../ui/layout/Page";
import { Tabs } from "../../../ui/layout/Tabs";
import { runQuery } from "../queries";
import { CurvesTab } from "./CurvesTab";
import { ScoresTab } from "./ScoresTab";
import type { ChangeCompare, COMPARE_TABS, CompareSearch } from "./search";
import { SelectedRuns } from "./SelectedRuns";
import { SettingsTab } from "./SettingsTab";

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

/** The comparison as commands: one line per run, or `compare` for two evaluated runs. */
export function compareSnippets(
  runIds: readonly string[],
  tab: (typeof COMPARE_TABS)[number],
  origin = location.origin,
): Snippets {
  const [base, other] = runIds;
  const isPair = tab === "scores" && base !== undefined && other !== undefined && runIds.length === 2;
  if (isPair) {
    return {
      ...everyRun(runIds, origin, "/evaluation"),
      cli: `tunix-rt compare ${shellQuoted(base)} ${shellQuoted(other)}`,
    };
  }
  return everyRun(runIds, origin, { curves: "/metrics", scores: "/evaluation", settings: "" }[tab]);
}

function everyRun(runIds: readonly string[], origin: string, part: string): Snippets {
  if (runIds.length === 0) {
    const url = `${origin}/api/tunix/runs`;
    return { cli: "tunix-rt runs list", curl: `curl ${url}`, python: pythonLines(`httpx.get("${url}")`) };
  }
  const urls = runIds.map((runId) => `${origin}/api/tunix/runs/${runId}${part}`);
  return {
    cli: runIds.map((runId) => `tunix-rt runs show ${shellQuoted(runId)}`).join("\n"),
    curl: urls.map((url) => `curl ${shellQuoted(url)}`).join("\n"),
    python: `import httpx\n\nfor url in ${JSON.stringify(urls)}:\n    print(httpx.get(url).raise_for_status().json())`,
  };
}

function pythonLines(call: string): string {
  return `import httpx\n\nprint(${call}.raise_for_status().json())`;
}

interface ComparedRunsProps {
  runIds: readonly string[];
  search: CompareSearch;
  change: ChangeCompare;
}

type TabKey = (typeof COMPARE_TABS)[number];

const TABS: readonly { key: TabKey; label: string }[] = [
  { key: "curves", label: "Curves" },
  { key: "scores", label: "Metrics & scores" },
  { key: "settings", label: "Settings" },
];

/** The tabs of the comparison. A run that fails to load is reported and skipped. */
function ComparedRuns({ runIds, search, change }: ComparedRunsProps): ReactElement {
  const found = useQueries({ queries: runIds.map(runQuery) });
  const tab = search.tab ?? "curves";
  if (found.some(({ isPending }) => isPending)) return <Loading what="Loading runs…" />;
  const failed = found.findIndex(({ isError }) => isError);
  const runs = found.flatMap(({ data }, index) => (data === undefined ? [] : [{ run: data, index }]));
  return (
    <>
      {failed < 0 ? null : (
        <ErrorNotice
          error={found[failed]?.error ?? new Error("unknown")}
          title={`Could not load ${runIds[failed] ?? "a run"}`}
          onRetry={() => void found[failed]?.refetch()}
        />
      )}
      <Tabs
        label="Comparison sections"
        tabs={TABS}
        chosen={tab}
        onChoose={(key) => {
          change({ tab: key === "curves" ? undefined : key });
        }}
      >
        {tab === "curves" ? <CurvesTab runs={runs} search={search} change={change} /> : null}
        {tab === "scores" ? <ScoresTab runs={runs} /> : null}
        {tab === "settings" ? <SettingsTab runs={runs} isAll={search.all ?? false} change={change} /> : null}
      </Tabs>
    </>
  );
}
