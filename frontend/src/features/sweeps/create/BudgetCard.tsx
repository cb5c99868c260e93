import type { ReactElement } from "react";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import { type Change, type NewSweepSearch, PRUNERS, SAMPLERS } from "../search";
import { DEFAULT_NUM_TRIALS } from "./sweepText";

const SAMPLER_LABELS = {
  tpe: "TPE (learns from earlier trials)",
  random: "random",
  grid: "grid (every combination)",
};
const PRUNER_LABELS = {
  none: "none",
  median: "median",
  hyperband: "Hyperband",
};

interface BudgetCardProps {
  search: NewSweepSearch;
  change: Change<NewSweepSearch>;
}

/** The budget, sampler and pruner of the sweep. */
export function BudgetCard({ search, change }: BudgetCardProps): ReactElement {
  const isGrid = search.sampler === "grid";
  return (
    <Card title="Budget and sampler">
      <TextField
        label="Max trials"
        help={isGrid ? "All combinations if empty." : `${DEFAULT_NUM_TRIALS} if empty and no minutes are set.`}
        type="number"
        min={1}
        placeholder={isGrid || search.minutes !== undefined ? "" : String(DEFAULT_NUM_TRIALS)}
        value={textOf(search.trials)}
        onChange={(typed) => {
          change({ trials: numberOf(typed) });
        }}
      />
      <TextField
        label="Max device-minutes"
        help="Total of all trials. No limit if empty."
        type="number"
        min={0}
        step="any"
        value={textOf(search.minutes)}
        onChange={(typed) => {
          change({ minutes: numberOf(typed) });
        }}
      />
      <Select
        label="Sampler"
        value={search.sampler ?? "tpe"}
        choices={SAMPLERS.map((value) => ({ value, label: SAMPLER_LABELS[value] }))}
        onChange={(sampler) => {
          change({ sampler: sampler === "tpe" ? undefined : sampler });
        }}
      />
      <Select
        label="Pruner"
        value={search.pruner ?? "none"}
        choices={PRUNERS.map((value) => ({ value, label: PRUNER_LABELS[value] }))}
        onChange={(pruner) => {
          change({ pruner: pruner === "none" ? undefined : pruner });
        }}
      />
      <TextField
        label="Max concurrent trials"
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
