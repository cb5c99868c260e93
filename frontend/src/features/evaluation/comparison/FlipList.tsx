import type { ReactElement } from "react";
import type { Comparison, Flip } from "../../../api/schema.gen";
import type { Changes } from "../shared/changes";
import { Empty } from "../../../ui/feedback/Empty";
import { Button } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { formatCount, formatNumber } from "../../../ui/display/format";
import styles from "../evaluations.module.css";
import { DIRECTIONS, type FlipSearch } from "../filters";
import { FlipCard } from "./FlipCard";

interface FlipListProps {
  comparison: Comparison;
  search: FlipSearch;
  onChange: (changes: Changes<FlipSearch>) => void;
}

const PAGE = 20;
const DIRECTION_LABELS = {
  lost: "lost: right → wrong",
  unscored: "right → no verdict",
  gained: "gained: wrong → right",
} as const;

/** The items whose verdict changed, lost ones first. */
export function FlipList({ comparison, search, onChange }: FlipListProps): ReactElement {
  const { flips } = comparison;
  if (flips.length === 0) {
    return (
      <Empty title="No item flipped">
        <p>Both answered the same items right and the same items wrong.</p>
      </Empty>
    );
  }
  const fitting = flips.filter((flip) => fits(flip, search));
  const numShown = search.shown ?? PAGE;
  return (
    <>
      <h2>Items that flipped</h2>
      <FlipFilters flips={flips} search={search} onChange={onChange} />
      <p role="status">
        {fitting.length === flips.length
          ? formatCount(flips.length, "flip")
          : `${formatNumber(fitting.length)} of ${formatCount(flips.length, "flip")}`}
      </p>
      <ol className={styles.board}>
        {fitting.slice(0, numShown).map((flip) => (
          <li key={flip.item_id}>
            <FlipCard flip={flip} comparison={comparison} />
          </li>
        ))}
      </ol>
      {fitting.length > numShown ? (
        <Button
          onClick={() => {
            onChange({ shown: numShown + PAGE });
          }}
        >
          Show more
        </Button>
      ) : null}
    </>
  );
}

interface FlipFiltersProps {
  flips: readonly Flip[];
  search: FlipSearch;
  onChange: (changes: Changes<FlipSearch>) => void;
}

function FlipFilters({ flips, search, onChange }: FlipFiltersProps): ReactElement {
  const sections = [...new Set(flips.map(({ section }) => section))];
  return (
    <search className={styles.filters}>
      <Select
        label="Direction"
        value={search.direction ?? ""}
        choices={[
          { value: "", label: "all" },
          ...DIRECTIONS.map((value) => ({ value, label: DIRECTION_LABELS[value] })),
        ]}
        onChange={(direction) => {
          onChange({ direction: direction === "" ? undefined : direction });
        }}
      />
      <Select
        label="Section"
        value={search.section ?? ""}
        choices={[{ value: "", label: "all" }, ...sections.map((name) => ({ value: name, label: name }))]}
        onChange={(section) => {
          onChange({ section });
        }}
      />
      <TextField
        label="Search"
        type="search"
        placeholder="item, question, category or text"
        value={search.text ?? ""}
        onChange={(text) => {
          onChange({ text });
        }}
      />
    </search>
  );
}

export function fits(flip: Flip, { direction, section, text }: FlipSearch): boolean {
  if (direction !== undefined && flip.direction !== direction) return false;
  if (section !== undefined && flip.section !== section) return false;
  const { item_id, prompt, category, difficulty, base, other } = flip;
  const searched = [item_id, prompt, category, difficulty, base.text ?? "", other.text ?? ""].join("\n").toLowerCase();
  return searched.includes((text ?? "").toLowerCase());
}
