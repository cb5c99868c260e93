import type { ReactElement } from "react";
import type { DatasetManifest } from "../../../api/schema.gen";
import { formatCount } from "../../../ui/display/format";
import { Page } from "../../../ui/layout/Page";
import { type Tab, Tabs } from "../../../ui/layout/Tabs";
import { Contamination, ContaminationBadge } from "./Contamination";
import { DatasetActions } from "./DatasetActions";
import { Origin } from "./Origin";
import { RowTable } from "./RowTable";
import type { DatasetSearch, DatasetTab } from "./search";
import { Statistics } from "./Statistics";

interface DatasetViewProps {
  manifest: DatasetManifest;
  search: DatasetSearch;
  onChange: (changes: DatasetSearch) => void;
}

const TABS: readonly Tab<DatasetTab>[] = [
  { key: "statistics", label: "Statistics" },
  { key: "rows", label: "Rows" },
  { key: "origin", label: "Origin" },
  { key: "contamination", label: "Contamination" },
];

export function DatasetView({ manifest, search, onChange }: DatasetViewProps): ReactElement {
  const tab = search.tab ?? "statistics";
  const splits = manifest.splits.map(({ name }) => name);
  const split = splits.find((name) => name === search.split) ?? splits[0] ?? "";
  const onSplit = (next: string): void => {
    onChange({ split: next });
  };
  return (
    <Page
      title={manifest.dataset_key}
      aside={
        <>
          <span>{formatCount(manifest.num_rows, "row")}</span>
          <ContaminationBadge verdict={manifest.contamination.verdict} />
        </>
      }
      actions={<DatasetActions manifest={manifest} />}
    >
      <Tabs
        label="Dataset sections"
        tabs={TABS}
        chosen={tab}
        onChoose={(next) => {
          onChange({ tab: next });
        }}
      >
        {tab === "statistics" ? <Statistics manifest={manifest} split={split} onSplit={onSplit} /> : null}
        {tab === "rows" ? <RowTable manifest={manifest} split={split} onSplit={onSplit} /> : null}
        {tab === "origin" ? <Origin manifest={manifest} /> : null}
        {tab === "contamination" ? <Contamination report={manifest.contamination} /> : null}
      </Tabs>
    </Page>
  );
}
