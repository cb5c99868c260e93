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

/** What the step should say. Ctrl+Enter keeps it, Escape leaves it as it was. */
export function StepEditor({ step, content, review }: StepEditorProps): ReactElement {
  const [text, setText] = useState(content);
  const keep = (): void => {
    review.judge(step.i, "edited", text);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") review.edit(null);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
  };
  return (
    <>
      <TextArea
        label={`What step ${step.i} should say`}
        help="Ctrl+Enter keeps it, Escape leaves it as it was."
        // It opens because someone wants to type here.
        // eslint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        rows={Math.min(12, text.split("\n").length + 2)}
        value={text}
        onChange={setText}
        onKeyDown={onKey}
      />
      <div className={styles.buttons}>
        <Button onClick={keep}>Keep the edit</Button>
        <Button
          kind="quiet"
          onClick={() => {
            review.edit(null);
          }}
        >
          Leave it
        </Button>
      </div>
    </>
  );
}
