import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { datasetQuery } from "../queries";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { Select } from "../../../ui/forms/Select";
import styles from "../datasets.module.css";
import { DraftField } from "../DraftField";
import { LOSS_ON, MARKUPS, type XraySearch } from "./search";

export interface XrayOptionsProps {
  datasetKey: string;
  search: XraySearch;
  onChange: (changes: { [Key in keyof XraySearch]: XraySearch[Key] | undefined }) => void;
}

const MARKUP_LABELS = {
  reasoning: "<reasoning> and <answer>",
  counted: "<reasoning> with numbered steps, and <answer>",
  think: "<think>",
  boxed: "\\boxed{}",
  hash: "####",
};
const LOSS_LABELS = {
  completion: "completion (as in training)",
  all: "all tokens",
  prompt: "question only",
};
const MARKUP_CHOICES = MARKUPS.map((value) => ({ value, label: MARKUP_LABELS[value] }));
const LOSS_CHOICES = LOSS_ON.map((value) => ({ value, label: LOSS_LABELS[value] }));

const ROW_LENGTH = 512;

/** The model, template and packing used for the X-ray. */
export function XrayOptions({ datasetKey, search, onChange }: XrayOptionsProps): ReactElement {
  const splits = useSplits(datasetKey);
  return (
    <search className={styles.row} aria-label="X-ray options">
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
        placeholder="model default"
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

function RowOptions({ search, onChange }: Omit<XrayOptionsProps, "datasetKey">): ReactElement {
  return (
    <>
      <DraftField
        label="Tokens per row"
        type="number"
        placeholder="no limit"
        value={search.row_length?.toString() ?? ""}
        onCommit={(length) => {
          onChange({ row_length: length === "" ? undefined : Math.max(2, Math.round(Number(length))) });
        }}
      />
      <Checkbox
        label="Packed: several examples per row"
        isChecked={search.packed ?? false}
        onChange={(isPacked) => {
          // Packing needs a row length.
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
