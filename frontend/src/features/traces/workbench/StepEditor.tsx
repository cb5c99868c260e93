import { type KeyboardEvent, type ReactElement, useState } from "react";
import type { TraceStep } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { TextArea } from "../../../ui/forms/TextArea";
import type { Review } from "./useReview";
import styles from "./workbench.module.css";

interface StepEditorProps {
  step: TraceStep;
  content: string;
  review: Review;
}

/** Editor for the text of a step. Ctrl+Enter saves the edit, Escape cancels. */
export function StepEditor({ step, content, review }: StepEditorProps): ReactElement {
  const [text, setText] = useState(content);
  const save = (): void => {
    review.setVerdict(step.i, "edited", text);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") review.edit(null);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
  };
  return (
    <>
      <TextArea
        label={`Corrected text of step ${step.i}`}
        help="Ctrl+Enter saves the edit, Escape cancels."
        // The editor opens because the user asked to type here.
        // eslint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        rows={Math.min(12, text.split("\n").length + 2)}
        value={text}
        onChange={setText}
        onKeyDown={onKey}
      />
      <div className={styles.buttons}>
        <Button onClick={save}>Save edit</Button>
        <Button
          kind="quiet"
          onClick={() => {
            review.edit(null);
          }}
        >
          Cancel
        </Button>
      </div>
    </>
  );
}
