import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { Button } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { asNumber } from "../../../ui/navigation/search";
import { lintCodesQuery } from "../queries";
import { filtersOf, isFiltered, type TraceSearch, type TraceSearchChange } from "./filters";
import styles from "./list.module.css";

interface TraceFilterBarProps {
  search: TraceSearch;
  onChange: (changes: TraceSearchChange) => void;
}

export function TraceFilterBar({ search, onChange }: TraceFilterBarProps): ReactElement {
  return (
    <search className={styles.filters}>
      <TextField
        label="Search"
        type="search"
        placeholder="words in the prompt, steps or answer"
        value={search.query ?? ""}
        onChange={(query) => {
          onChange({ query });
        }}
      />
      <TextField
        label="Source"
        type="search"
        placeholder="exact name"
        value={search.source ?? ""}
        onChange={(source) => {
          onChange({ source });
        }}
      />
      <CodeSelect
        label="Finding"
        value={search.code?.[0]}
        onChange={(code) => {
          onChange({ code });
        }}
      />
      <ScoreField
        label="Min score"
        value={search.min_score}
        onChange={(min_score) => {
          onChange({ min_score });
        }}
      />
      <ScoreField
        label="Max score"
        value={search.max_score}
        onChange={(max_score) => {
          onChange({ max_score });
        }}
      />
      <MoreFilters search={search} onChange={onChange} />
      {isFiltered(search) ? (
        <Button
          kind="quiet"
          onClick={() => {
            onChange(Object.fromEntries(Object.keys(filtersOf(search)).map((name) => [name, undefined])));
          }}
        >
          Clear filters
        </Button>
      ) : null}
    </search>
  );
}

function MoreFilters({ search, onChange }: TraceFilterBarProps): ReactElement {
  const isUsed = search.tag !== undefined || search.meta !== undefined || search.without_code !== undefined;
  return (
    <details open={isUsed || undefined} className={styles.more}>
      <summary>More filters</summary>
      <div className={styles.filters}>
        <WordsField
          label="Tags"
          help="comma-separated, all must match"
          values={search.tag}
          onChange={(tag) => {
            onChange({ tag });
          }}
        />
        <WordsField
          label="Meta"
          help="key=value, comma-separated"
          values={search.meta}
          onChange={(meta) => {
            onChange({ meta });
          }}
        />
        <CodeSelect
          label="Without finding"
          value={search.without_code?.[0]}
          onChange={(without_code) => {
            onChange({ without_code });
          }}
        />
      </div>
    </details>
  );
}

interface CodeSelectProps {
  label: string;
  value: string | undefined;
  onChange: (codes: string[]) => void;
}

function CodeSelect({ label, value, onChange }: CodeSelectProps): ReactElement {
  const codes = useQuery(lintCodesQuery).data?.data.map(({ code }) => code) ?? [];
  const known = value === undefined || codes.includes(value) ? codes : [value, ...codes];
  const choices = known.map((code) => ({ value: code, label: code }));
  return (
    <Select
      label={label}
      value={value ?? ""}
      choices={[{ value: "", label: "any" }, ...choices]}
      onChange={(code) => {
        onChange(code === "" ? [] : [code]);
      }}
    />
  );
}

interface ScoreFieldProps {
  label: string;
  value: number | undefined;
  onChange: (score: number | undefined) => void;
}

function ScoreField({ label, value, onChange }: ScoreFieldProps): ReactElement {
  return (
    <TextField
      label={label}
      type="number"
      min={0}
      max={100}
      className={styles.score}
      value={value === undefined ? "" : String(value)}
      onChange={(text) => {
        onChange(asNumber(text));
      }}
    />
  );
}

interface WordsFieldProps {
  label: string;
  help: string;
  values: readonly string[] | undefined;
  onChange: (values: string[]) => void;
}

/** A comma-separated list of words. The text stays as typed while the parsed words are passed on. */
function WordsField({ label, help, values = [], onChange }: WordsFieldProps): ReactElement {
  const [typed, setTyped] = useState(values.join(", "));
  const shown = wordsOf(typed).join() === values.join() ? typed : values.join(", ");
  return (
    <TextField
      label={label}
      help={help}
      type="search"
      value={shown}
      onChange={(text) => {
        setTyped(text);
        onChange(wordsOf(text));
      }}
    />
  );
}

function wordsOf(text: string): string[] {
  const words = text.split(",").map((word) => word.trim());
  return [...new Set(words.filter((word) => word !== ""))];
}
