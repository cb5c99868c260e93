import { type ReactElement, useState } from "react";
import type { Trace } from "../../../api/schema.gen";
import { TextField } from "../../../ui/forms/TextField";
import { Card } from "../../../ui/display/Card";
import { Diff } from "../../../ui/display/Diff";
import type { Review } from "./useReview";

/** The final answer, which a review can also change. */
export function AnswerCard({ trace, review }: { trace: Trace; review: Review }): ReactElement {
  const [text, setText] = useState(review.draft.answer ?? trace.final_answer);
  return (
    <Card title="Final answer">
      <TextField
        label="Corrected answer"
        help="Change it only if it is wrong."
        value={text}
        onChange={(next) => {
          setText(next);
          review.setAnswer(next);
        }}
      />
      {review.draft.answer === null ? null : <Diff before={trace.final_answer} after={review.draft.answer} />}
    </Card>
  );
}
