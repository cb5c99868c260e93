import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { datasetKeysQuery, evalSetNamesQuery, recipesQuery } from "../../runs/launch/plans";
import { Select } from "../../../ui/forms/Select";
import { TextArea } from "../../../ui/forms/TextArea";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import { formatNumber } from "../../../ui/display/format";
import { shortRunName } from "../../../ui/display/names";
import { type Change, METRICS, type NewSweepSearch } from "../search";
import { metricName } from "../words";
import { DEFAULT_RECIPE } from "./sweepText";

interface GoalCardProps {
  search: NewSweepSearch;
  change: Change<NewSweepSearch>;
}

/** What every trial starts from, and what makes one better than another. */
export function GoalCard({ search, change }: GoalCardProps): ReactElement {
  const recipes = useQuery(recipesQuery);
  const datasets = useQuery(datasetKeysQuery);
  const own =
    search.like === undefined ? [] : [{ value: "", label: `the one written into ${shortRunName(search.like)}` }];
  const recipe = search.recipe ?? (own.length > 0 ? "" : DEFAULT_RECIPE);
  const names = (recipes.data?.data ?? []).map(({ name }) => name);
  const keys = (datasets.data ?? []).map(({ dataset_key }) => dataset_key);
  return (
    <Card title="What is trained">
      <TextField
        label="Name"
        help="Small letters, digits and dashes."
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
          { value: "", label: "the recipe's own" },
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

/** As it is typed: empty lines stay until they are left, the address has only what is meant. */
function Overrides({ search, change }: GoalCardProps): ReactElement {
  const [text, setText] = useState((search.set ?? []).join("\n"));
  return (
    <TextArea
      label="The same for every trial"
      help="A setting a line, e.g. training.num_steps=200. It stands over the recipe."
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
        label="Best is the trial with"
        value={search.metric ?? "validation_loss"}
        choices={METRICS.map((metric) => ({
          value: metric,
          label: `the ${metric === "score" ? "highest" : "lowest"} ${metricName(metric)}`,
        }))}
        help="The validation loss needs eval.every_steps in the recipe, the score an eval set."
        onChange={(metric) => {
          change({ metric: metric === "validation_loss" ? undefined : metric });
        }}
      />
      <Select
        label="Evaluate each trial on"
        value={search.evalset ?? ""}
        choices={[{ value: "", label: "nothing" }, ...names]}
        error={search.metric === "score" && search.evalset === undefined ? "The score needs an eval set." : null}
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
