import type { ReactElement } from "react";
import type { DatasetManifest } from "../../../api/schema.gen";
import { Select } from "../../../ui/forms/Select";
import { formatNumber } from "../../../ui/display/format";

interface SplitSelectProps {
  manifest: DatasetManifest;
  split: string;
  onSplit: (split: string) => void;
}

export function SplitSelect({ manifest, split, onSplit }: SplitSelectProps): ReactElement {
  const choices = manifest.splits.map(({ name, statistics }) => ({
    value: name,
    label: `${name} (${formatNumber(statistics.num_rows)})`,
  }));
  return <Select label="Split" value={split} choices={choices} onChange={onSplit} />;
}
