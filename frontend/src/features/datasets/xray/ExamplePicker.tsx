import type { ReactElement } from "react";
import { Button } from "../../../ui/forms/Button";
import { useShortcuts } from "../../../ui/navigation/shortcuts";
import { formatNumber } from "../../../ui/display/format";
import styles from "../datasets.module.css";
import { DraftField } from "../DraftField";

interface ExamplePickerProps {
  /** Zero-based. */
  index: number;
  numExamples: number;
  onIndex: (index: number) => void;
}

/** Selects the example. j and k go to the next and previous one. */
export function ExamplePicker({ index, numExamples, onIndex }: ExamplePickerProps): ReactElement {
  const goTo = (wanted: number): void => {
    if (wanted >= 0 && wanted < numExamples) onIndex(wanted);
  };
  const next = (): void => {
    goTo(index + 1);
  };
  const previous = (): void => {
    goTo(index - 1);
  };
  useShortcuts([
    { keys: "j", label: "Next example", run: next },
    { keys: "k", label: "Previous example", run: previous },
  ]);
  return (
    <div className={styles.row}>
      <Button disabled={index === 0} onClick={previous}>
        Previous
      </Button>
      <DraftField
        label="Example"
        type="number"
        value={String(index)}
        onCommit={(typed) => {
          goTo(Math.round(Number(typed)));
        }}
      />
      <Button disabled={index + 1 >= numExamples} onClick={next}>
        Next
      </Button>
      <p className={styles.muted}>
        0 to {formatNumber(numExamples - 1)}; use <kbd>j</kbd> and <kbd>k</kbd>
      </p>
    </div>
  );
}
