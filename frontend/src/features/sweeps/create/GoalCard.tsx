import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { Card } from "../../../ui/display/Card";
import { formatNumber, shortRunName } from "../../../ui/display/format";
import { Select } from "../../../ui/forms/Select";
import { TextArea } from "../../../ui/forms/TextArea";
import { TextField } from "../../../ui/forms/TextField";
import { datasetKeysQuery, evalSetNamesQuery, recipesQuery } from "../../runs/shared/plans";
import { type Change, METRICS, type NewSweepSearch } from "../search";
import { metricName } from "../format";
import { DEFAULT_RECIPE } from "./sweepText";

interface GoalCardProps {
  search: NewSweepSearch;
  change: Change<NewSweepSearch>;
}

/** The recipe, dataset, fixed overrides and objective of the sweep. */
export function GoalCard({ search, change }: GoalCardProps): ReactElement {
  const recipes = useQuery(recipesQuery);
  const datasets = useQuery(datasetKeysQuery);
  const own = search.like === undefined ? [] : [{ value: "", label: `inline recipe of ${shortRunName(search.like)}` }];
  const recipe = search.recipe ?? (own.length > 0 ? "" : DEFAULT_RECIPE);
  const names = (recipes.data?.data ?? []).map(({ name }) => name);
  const keys = (datasets.data ?? []).map(({ dataset_key }) => dataset_key);
  return (
    <Card title="Training">
      <TextField
        label="Name"
        help="Lower-case letters, digits and dashes."
        maxLength={40}
        autoComplete="off"
        value={search.name ?? ""}
        onChange={(name) => {
          change({ name });
        }}
      />
      <Select
        label="Recipe"
        value={recipe}
        choices={[...own, ...optionsOf(recipe, names).filter(({ value }) => value !== "")]}
        error={recipes.isError ? recipes.error.message : null}
        onChange={(chosen) => {
          change({ recipe: chosen });
        }}
      />
      <Select
        label="Dataset"
        value={search.dataset ?? ""}
        choices={[
          { value: "", label: "recipe default" },
          ...optionsOf(search.dataset ?? "", keys).filter(({ value }) => value !== ""),
        ]}
        error={datasets.isError ? datasets.error.message : null}
        onChange={(dataset) => {
          change({ dataset });
        }}
      />
      <Overrides search={search} change={change} />
      <MetricChoice search={search} change={change} />
    </Card>
  );
}

/** Keeps the text as typed. The URL only has the non-empty lines. */
function Overrides({ search, change }: GoalCardProps): ReactElement {
  const [text, setText] = useState((search.set ?? []).join("\n"));
  return (
    <TextArea
      label="Overrides for every trial"
      help="One setting per line, e.g. training.num_steps=200. Overrides the recipe."
      rows={3}
      value={text}
      onChange={(typed) => {
        setText(typed);
        change({ set: typed.split("\n").filter((line) => line.trim() !== "") });
      }}
    />
  );
}

function MetricChoice({ search, change }: GoalCardProps): ReactElement {
  const evalSets = useQuery(evalSetNamesQuery);
  const names = (evalSets.data?.data ?? []).map(({ name, num_items }) => ({
    value: name,
    label: `${name} (${formatNumber(num_items)} items)`,
  }));
  return (
    <>
      <Select
        label="Objective"
        value={search.metric ?? "validation_loss"}
        choices={METRICS.map((metric) => ({
          value: metric,
          label: `${metric === "score" ? "highest" : "lowest"} ${metricName(metric)}`,
        }))}
        help="The validation loss requires eval.every_steps in the recipe; the score requires an eval set."
        onChange={(metric) => {
          change({ metric: metric === "validation_loss" ? undefined : metric });
        }}
      />
      <Select
        label="Evaluate each trial on"
        value={search.evalset ?? ""}
        choices={[{ value: "", label: "none" }, ...names]}
        error={search.metric === "score" && search.evalset === undefined ? "The score requires an eval set." : null}
        onChange={(evalset) => {
          change({ evalset });
        }}
      />
    </>
  );
}

function optionsOf(chosen: string, names: readonly string[]): { value: string; label: string }[] {
  const all = names.includes(chosen) ? names : [chosen, ...names];
  return all.map((name) => ({ value: name, label: name }));
}
