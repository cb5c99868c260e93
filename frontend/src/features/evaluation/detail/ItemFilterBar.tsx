import type { ReactElement } from "react";
import type { Scores } from "../../../api/schema.gen";
import type { Changes } from "../shared/changes";
import { VERDICTS, verdictLabel } from "../shared/VerdictBadge";
import { Button } from "../../../ui/forms/Button";
import { type Choice, Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import styles from "../evaluations.module.css";
import { type ItemFilters, RULE_CHOICES } from "../filters";

interface ItemFilterBarProps {
  /** Provides the groups to filter by. */
  scores: Scores;
  filters: ItemFilters;
  onChange: (changes: Changes<ItemFilters>) => void;
}

const NO_FILTERS = {
  verdict: undefined,
  section: undefined,
  category: undefined,
  difficulty: undefined,
  rule: undefined,
  text: undefined,
};

export function ItemFilterBar({ scores, filters, onChange }: ItemFilterBarProps): ReactElement {
  const groups = [
    { key: "section", label: "Section", names: Object.keys(scores.by_section) },
    { key: "category", label: "Category", names: Object.keys(scores.by_category) },
    { key: "difficulty", label: "Difficulty", names: Object.keys(scores.by_difficulty) },
  ] as const;
  const rules = RULE_CHOICES.filter((rule) => rule in scores.rules || rule === filters.rule);
  return (
    <search className={styles.filters}>
      <TextField
        label="Search"
        type="search"
        placeholder="question, answer or completion"
        value={filters.text ?? ""}
        onChange={(text) => {
          onChange({ text });
        }}
      />
      <FilterSelect
        label="Verdict"
        chosen={filters.verdict}
        choices={VERDICTS.map((value) => ({ value, label: verdictLabel(value) }))}
        onChoose={(verdict) => {
          onChange({ verdict });
        }}
      />
      {groups.map(({ key, label, names }) => (
        <FilterSelect
          key={key}
          label={label}
          chosen={filters[key]}
          choices={names.map(choiceOf)}
          onChoose={(name) => {
            onChange({ [key]: name });
          }}
        />
      ))}
      <FilterSelect
        label="Extracted by"
        chosen={filters.rule}
        choices={rules.map(choiceOf)}
        onChoose={(rule) => {
          onChange({ rule });
        }}
      />
      {Object.keys(filters).length > 0 ? (
        <Button
          kind="quiet"
          onClick={() => {
            onChange(NO_FILTERS);
          }}
        >
          Clear filters
        </Button>
      ) : null}
    </search>
  );
}

interface FilterSelectProps<Value extends string> {
  label: string;
  chosen: Value | undefined;
  choices: readonly Choice<Value>[];
  onChoose: (value: Value | undefined) => void;
}

/** A filter with the additional choice "all". */
function FilterSelect<Value extends string>({
  label,
  chosen,
  choices,
  onChoose,
}: FilterSelectProps<Value>): ReactElement {
  return (
    <Select<Value | "">
      label={label}
      value={chosen ?? ""}
      choices={[{ value: "", label: "all" }, ...choices]}
      onChange={(value) => {
        onChoose(value === "" ? undefined : value);
      }}
    />
  );
}

function choiceOf<Name extends string>(name: Name): Choice<Name> {
  return { value: name, label: name };
}
