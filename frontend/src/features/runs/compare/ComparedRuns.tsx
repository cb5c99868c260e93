import { useQueries } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { runQuery } from "../queries";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Tabs } from "../../../ui/Tabs";
import { CurvesTab } from "./CurvesTab";
import { ScoresTab } from "./ScoresTab";
import type { ChangeCompare, COMPARE_TABS, CompareSearch } from "./search";
import { SettingsTab } from "./SettingsTab";

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
export function ComparedRuns({ runIds, search, change }: ComparedRunsProps): ReactElement {
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
