import type { ReactElement } from "react";
import type { Comparison, Flip } from "../../../api/schema.gen";
import type { Changes } from "../shared/changes";
import { Empty } from "../../../ui/feedback/Empty";
import { Button } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { TextField } from "../../../ui/forms/TextField";
import { formatCount, formatNumber } from "../../../ui/display/format";
import styles from "../evaluations.module.css";
import { DIRECTIONS, type ComparisonSearch } from "../filters";
import { FlipCard } from "./FlipCard";

interface FlipListProps {
  comparison: Comparison;
  search: ComparisonSearch;
  onChange: (changes: Changes<ComparisonSearch>) => void;
}

const PAGE = 20;
const DIRECTION_LABELS = {
  lost: "lost: correct → wrong",
  unscored: "correct → unscored",
  gained: "gained: wrong → correct",
} as const;

/** The items whose verdict changed, lost items first. */
export function FlipList({ comparison, search, onChange }: FlipListProps): ReactElement {
  const { flips } = comparison;
  if (flips.length === 0) {
    return (
      <Empty title="No flips">
        <p>Both answered the same items correctly.</p>
      </Empty>
    );
  }
  const matching = flips.filter((flip) => fits(flip, search));
  const numShown = search.shown ?? PAGE;
  return (
    <>
      <h2>Flipped items</h2>
      <FlipFilters flips={flips} search={search} onChange={onChange} />
      <p role="status">
        {matching.length === flips.length
          ? formatCount(flips.length, "flip")
          : `${formatNumber(matching.length)} of ${formatCount(flips.length, "flip")}`}
      </p>
      <ol className={styles.board}>
        {matching.slice(0, numShown).map((flip) => (
          <li key={flip.item_id}>
            <FlipCard flip={flip} comparison={comparison} />
          </li>
        ))}
      </ol>
      {matching.length > numShown ? (
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
  search: ComparisonSearch;
  onChange: (changes: Changes<ComparisonSearch>) => void;
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
        placeholder="item, question, category or completion"
        value={search.text ?? ""}
        onChange={(text) => {
          onChange({ text });
        }}
      />
    </search>
  );
}

export function fits(flip: Flip, { direction, section, text }: ComparisonSearch): boolean {
  if (direction !== undefined && flip.direction !== direction) return false;
  if (section !== undefined && flip.section !== section) return false;
  const { item_id, prompt, category, difficulty, base, other } = flip;
  const searched = [item_id, prompt, category, difficulty, base.text ?? "", other.text ?? ""].join("\n").toLowerCase();
  return searched.includes((text ?? "").toLowerCase());
}
