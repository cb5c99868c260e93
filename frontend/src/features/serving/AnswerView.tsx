import type { ReactElement } from "react";
import { Badge } from "../../ui/display/Badge";
import { formatCount } from "../../ui/display/format";
import { MathText } from "../../ui/markdown/MathText";
import type { Answer } from "./answer";
import styles from "./chat.module.css";

interface AnswerViewProps {
  answer: Answer;
  isWriting?: boolean;
}

/** The answer of a model, with its reasoning shown separately. */
export function AnswerView({ answer, isWriting = false }: AnswerViewProps): ReactElement {
  const { reasoning, content, numTokens, isCutOff } = answer;
  if (isWriting && reasoning === "" && content === "")
    return <p>Processing the prompt. The first question waits until the model is loaded.</p>;
  return (
    <div className={styles.answer}>
      {reasoning === "" ? null : (
        <details open className={styles.reasoning}>
          <summary>Reasoning</summary>
          <MathText text={reasoning.trim()} />
        </details>
      )}
      <div>
        {content.trim() === "" && !isWriting ? (
          <em>{content === "" ? "No answer." : "Only whitespace was generated."}</em>
        ) : (
          <MathText text={content.trim()} />
        )}
      </div>
      <p className={styles.figures}>
        {numTokens === null ? null : formatCount(numTokens, "token")}
        {isCutOff ? (
          <Badge kind="warn" sign="!">
            truncated at the limit
          </Badge>
        ) : null}
      </p>
    </div>
  );
}
