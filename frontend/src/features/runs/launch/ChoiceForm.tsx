import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { datasetKeysQuery, evalSetNamesQuery } from "./plans";
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
  /** The recipe is that of another run. */
  isAgain: boolean;
  preview: RunPreview | undefined;
}

const ENGINE_CHOICES = ENGINES.map((engine) => ({
  value: engine,
  label: engine === "auto" ? "the one that suits the machine" : engine,
}));

/** What is trained, on what, and where. */
export function ChoiceForm({ search, change, choices, isAgain, preview }: ChoiceFormProps): ReactElement {
  return (
    <Card title="What to train">
      {isAgain ? (
        <AgainNote runId={search.from ?? ""} change={change} />
      ) : (
        <Select
          label="Recipe"
          value={search.recipe ?? DEFAULT_RECIPE}
          choices={recipeChoices(choices, search.recipe)}
          onChange={(recipe) => {
            // Settings of one recipe need not make sense in another.
            change({ recipe, set: undefined });
          }}
        />
      )}
      <DatasetChoice search={search} change={change} preview={preview} />
      <Select
        label="Target"
        help="The hardware to plan for; it need not be at hand."
        value={search.target ?? DEFAULT_TARGET}
        choices={targetChoices(choices.targets)}
        onChange={(target) => {
          change({ target: target === DEFAULT_TARGET ? undefined : target });
        }}
      />
      <TextField
        label="Session limit, in hours"
        help="A free Kaggle TPU session lasts 9 hours. Empty: no limit."
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

function AgainNote({ runId, change }: { runId: string; change: ChangeSearch }): ReactElement {
  return (
    <p>
      With the resolved recipe of{" "}
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

function DatasetChoice({ search, change, preview }: Omit<ChoiceFormProps, "choices" | "isAgain">): ReactElement {
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
        { value: "", label: ownDataset(chosen, preview) },
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

/** What the recipe names itself, as far as it is known. */
function ownDataset(chosen: string, preview: RunPreview | undefined): string {
  if (chosen !== "" || preview === undefined) return "the recipe's own";
  return preview.dataset === "" ? "choose one: the recipe names none" : `the recipe's own: ${preview.dataset}`;
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
      <summary>More: name, engine, evaluation, a short trial</summary>
      <TextField
        label="Name"
        help="Becomes part of the run's id."
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
        label="Evaluate afterwards on"
        value={search.evalset ?? ""}
        choices={[{ value: "", label: "nothing" }, ...names]}
        onChange={(evalset) => {
          change({ evalset });
        }}
      />
      <TextField
        label="Stop after this many steps"
        help="A trial: all else is the same. Empty: the whole training."
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
