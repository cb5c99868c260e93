import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { datasetQuery } from "../queries";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { Select } from "../../../ui/forms/Select";
import styles from "../datasets.module.css";
import { DraftField } from "../DraftField";
import { LOSS_ON, MARKUPS, type XraySearch } from "./search";

export interface XrayPartProps {
  datasetKey: string;
  search: XraySearch;
  onChange: (changes: { [Key in keyof XraySearch]: XraySearch[Key] | undefined }) => void;
}

const MARKUP_LABELS = {
  reasoning: "<reasoning> and <answer>",
  counted: "<reasoning> with counted steps, and <answer>",
  think: "<think>",
  boxed: "\\boxed{}",
  hash: "####",
};
const LOSS_LABELS = {
  completion: "completion (as training does)",
  all: "everything",
  prompt: "the question only",
};
const MARKUP_CHOICES = MARKUPS.map((value) => ({ value, label: MARKUP_LABELS[value] }));
const LOSS_CHOICES = LOSS_ON.map((value) => ({ value, label: LOSS_LABELS[value] }));

const ROW_LENGTH = 512;

/** Under which model, template and packing the dataset is looked at. */
export function XrayOptions({ datasetKey, search, onChange }: XrayPartProps): ReactElement {
  const splits = useSplits(datasetKey);
  return (
    <search className={styles.row} aria-label="How to look">
      <DraftField
        label="Model"
        placeholder="tiny"
        value={search.model ?? ""}
        onCommit={(model) => {
          onChange({ model });
        }}
      />
      <DraftField
        label="Template"
        placeholder="the model's own"
        value={search.template ?? ""}
        onCommit={(template) => {
          onChange({ template });
        }}
      />
      <Select
        label="Split"
        value={search.split ?? ""}
        choices={[{ value: "", label: "all" }, ...splits.map((value) => ({ value, label: value }))]}
        onChange={(split) => {
          onChange({ split, index: undefined });
        }}
      />
      <Select
        label="Markup"
        value={search.markup ?? "reasoning"}
        choices={MARKUP_CHOICES}
        onChange={(markup) => {
          onChange({ markup: markup === "reasoning" ? undefined : markup });
        }}
      />
      <Select
        label="Loss on"
        value={search.loss_on ?? "completion"}
        choices={LOSS_CHOICES}
        onChange={(lossOn) => {
          onChange({ loss_on: lossOn === "completion" ? undefined : lossOn });
        }}
      />
      <RowOptions search={search} onChange={onChange} />
    </search>
  );
}

function RowOptions({ search, onChange }: Omit<XrayPartProps, "datasetKey">): ReactElement {
  return (
    <>
      <DraftField
        label="Tokens in a row"
        type="number"
        placeholder="no limit"
        value={search.row_length?.toString() ?? ""}
        onCommit={(length) => {
          onChange({ row_length: length === "" ? undefined : Math.max(2, Math.round(Number(length))) });
        }}
      />
      <Checkbox
        label="Packed: several examples in a row"
        isChecked={search.packed ?? false}
        onChange={(isPacked) => {
          // Rows must end somewhere for anything to be packed into them.
          onChange({ packed: isPacked || undefined, ...(isPacked && { row_length: search.row_length ?? ROW_LENGTH }) });
        }}
      />
    </>
  );
}

function useSplits(datasetKey: string): string[] {
  const { data } = useQuery(datasetQuery(datasetKey));
  return data?.splits.map(({ name }) => name) ?? [];
}
