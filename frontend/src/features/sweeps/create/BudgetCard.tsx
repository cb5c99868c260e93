import type { ReactElement } from "react";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import { type Change, type NewSweepSearch, PRUNERS, SAMPLERS } from "../search";
import { DEFAULT_NUM_TRIALS } from "./sweepText";

const SAMPLER_LABELS = {
  tpe: "learn from the trials so far (TPE)",
  random: "by chance",
  grid: "every combination once",
};
const PRUNER_LABELS = {
  none: "never",
  median: "when worse than the median",
  hyperband: "by Hyperband",
};

interface BudgetCardProps {
  search: NewSweepSearch;
  change: Change<NewSweepSearch>;
}

/** How long the search may last, and how it goes about it. */
export function BudgetCard({ search, change }: BudgetCardProps): ReactElement {
  const isGrid = search.sampler === "grid";
  return (
    <Card title="How long and how">
      <TextField
        label="Trials at most"
        help={isGrid ? "Empty: all combinations." : `Empty with no minutes given: ${DEFAULT_NUM_TRIALS}.`}
        type="number"
        min={1}
        placeholder={isGrid || search.minutes !== undefined ? "" : String(DEFAULT_NUM_TRIALS)}
        value={textOf(search.trials)}
        onChange={(typed) => {
          change({ trials: numberOf(typed) });
        }}
      />
      <TextField
        label="Device-minutes at most"
        help="Of all trials together. Empty: no limit."
        type="number"
        min={0}
        step="any"
        value={textOf(search.minutes)}
        onChange={(typed) => {
          change({ minutes: numberOf(typed) });
        }}
      />
      <Select
        label="Choose values"
        value={search.sampler ?? "tpe"}
        choices={SAMPLERS.map((value) => ({ value, label: SAMPLER_LABELS[value] }))}
        onChange={(sampler) => {
          change({ sampler: sampler === "tpe" ? undefined : sampler });
        }}
      />
      <Select
        label="Stop a trial early"
        value={search.pruner ?? "none"}
        choices={PRUNERS.map((value) => ({ value, label: PRUNER_LABELS[value] }))}
        onChange={(pruner) => {
          change({ pruner: pruner === "none" ? undefined : pruner });
        }}
      />
      <TextField
        label="Trials at one time"
        help="Each needs a worker and a device."
        type="number"
        min={1}
        value={textOf(search.parallel ?? 1)}
        onChange={(typed) => {
          change({ parallel: numberOf(typed) });
        }}
      />
    </Card>
  );
}

function textOf(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

function numberOf(typed: string): number | undefined {
  return typed === "" ? undefined : Number(typed);
}
