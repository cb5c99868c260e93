import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { datasetKeysQuery, evalSetNamesQuery } from "../shared/plans";
import type { PlanTarget, RunPreview } from "../../../api/schema.gen";
import { type Choice, Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import { formatBytes, formatNumber } from "../../../ui/display/format";
import styles from "./launch.module.css";
import type { Choices } from "./LaunchScreen";
import { type ChangeSearch, DEFAULT_RECIPE, DEFAULT_TARGET, ENGINES, type LaunchSearch } from "./search";

interface ChoiceFormProps {
  search: LaunchSearch;
  change: ChangeSearch;
  choices: Choices;
  /** Whether the recipe comes from another run. */
  isFromRun: boolean;
  preview: RunPreview | undefined;
}

const ENGINE_CHOICES = ENGINES.map((engine) => ({
  value: engine,
  label: engine === "auto" ? "auto: best for this machine" : engine,
}));

/** The recipe, dataset and target of the run. */
export function ChoiceForm({ search, change, choices, isFromRun, preview }: ChoiceFormProps): ReactElement {
  return (
    <Card title="Run configuration">
      {isFromRun ? (
        <FromRunNote runId={search.from ?? ""} change={change} />
      ) : (
        <Select
          label="Recipe"
          value={search.recipe ?? DEFAULT_RECIPE}
          choices={recipeChoices(choices, search.recipe)}
          onChange={(recipe) => {
            // Overrides of one recipe may not apply to another.
            change({ recipe, set: undefined });
          }}
        />
      )}
      <DatasetChoice search={search} change={change} preview={preview} />
      <Select
        label="Target"
        help="The hardware to plan for. It does not need to be available."
        value={search.target ?? DEFAULT_TARGET}
        choices={targetChoices(choices.targets)}
        onChange={(target) => {
          change({ target: target === DEFAULT_TARGET ? undefined : target });
        }}
      />
      <TextField
        label="Session limit (hours)"
        help="A free Kaggle TPU session lasts 9 hours. No limit if empty."
        type="number"
        min={0}
        step="any"
        value={search.hours === undefined ? "" : String(search.hours)}
        onChange={(hours) => {
          change({ hours: hours === "" ? undefined : Number(hours) });
        }}
      />
      <MoreChoices search={search} change={change} />
    </Card>
  );
}

function FromRunNote({ runId, change }: { runId: string; change: ChangeSearch }): ReactElement {
  return (
    <p>
      Using the resolved recipe of{" "}
      <Link to="/runs/$runId" params={{ runId }}>
        {runId}
      </Link>
      .{" "}
      <button
        type="button"
        className={styles.inline}
        onClick={() => {
          change({ from: undefined, set: undefined });
        }}
      >
        Choose a recipe instead
      </button>
    </p>
  );
}

function DatasetChoice({ search, change, preview }: Omit<ChoiceFormProps, "choices" | "isFromRun">): ReactElement {
  const datasets = useQuery(datasetKeysQuery);
  const keys = (datasets.data ?? []).map(({ dataset_key, num_rows }) => ({
    value: dataset_key,
    label: `${dataset_key} (${formatNumber(num_rows)} rows)`,
  }));
  const chosen = search.dataset ?? "";
  const isKnown = chosen === "" || keys.some(({ value }) => value === chosen);
  return (
    <Select
      label="Dataset"
      value={chosen}
      choices={[
        { value: "", label: defaultDatasetLabel(chosen, preview) },
        ...(isKnown ? [] : [{ value: chosen, label: chosen }]),
        ...keys,
      ]}
      error={datasets.isError ? datasets.error.message : null}
      onChange={(dataset) => {
        change({ dataset: dataset === "" ? undefined : dataset });
      }}
    />
  );
}

/** The label for the recipe's default dataset, if known. */
function defaultDatasetLabel(chosen: string, preview: RunPreview | undefined): string {
  if (chosen !== "" || preview === undefined) return "recipe default";
  return preview.dataset === "" ? "choose one: the recipe has no default" : `recipe default: ${preview.dataset}`;
}

function MoreChoices({ search, change }: Pick<ChoiceFormProps, "search" | "change">): ReactElement {
  const evalSets = useQuery(evalSetNamesQuery);
  const names = (evalSets.data?.data ?? []).map(({ name, num_items }) => ({
    value: name,
    label: `${name} (${formatNumber(num_items)} items)`,
  }));
  const isOpen = search.engine ?? search.evalset ?? search.name ?? search.steps;
  return (
    <details className={styles.more} open={isOpen !== undefined}>
      <summary>More: name, engine, evaluation, smoke test</summary>
      <TextField
        label="Name"
        help="Part of the run id."
        maxLength={64}
        value={search.name ?? ""}
        onChange={(name) => {
          change({ name });
        }}
      />
      <Select
        label="Engine"
        value={search.engine ?? "auto"}
        choices={ENGINE_CHOICES}
        onChange={(engine) => {
          change({ engine: engine === "auto" ? undefined : engine });
        }}
      />
      <Select
        label="Evaluate on"
        value={search.evalset ?? ""}
        choices={[{ value: "", label: "none" }, ...names]}
        onChange={(evalset) => {
          change({ evalset });
        }}
      />
      <TextField
        label="Smoke test steps"
        help="Stops early with an otherwise identical run. Full training if empty."
        type="number"
        min={1}
        value={search.steps === undefined ? "" : String(search.steps)}
        onChange={(steps) => {
          change({ steps: steps === "" ? undefined : Number(steps) });
        }}
      />
    </details>
  );
}

function recipeChoices({ recipes }: Choices, chosen: string | undefined): Choice<string>[] {
  const named = recipes.map(({ name, is_shipped }) => ({ value: name, label: is_shipped ? name : `${name} (yours)` }));
  const isKnown = chosen === undefined || recipes.some(({ name }) => name === chosen);
  return isKnown ? named : [{ value: chosen, label: `${chosen} (unknown)` }, ...named];
}

function targetChoices(targets: readonly PlanTarget[]): Choice<string>[] {
  return targets.map((target) => ({ value: target.name, label: targetLabel(target) }));
}

function targetLabel({ name, description, memory_bytes, num_devices, is_here }: PlanTarget): string {
  const memory = `${formatBytes(memory_bytes)}${num_devices > 1 ? " each" : ""}`;
  const called = name === DEFAULT_TARGET ? "this machine" : is_here ? "this machine's processors" : name;
  return `${called}: ${description}, ${memory}`;
}
