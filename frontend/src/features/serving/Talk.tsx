import type { ReactElement } from "react";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Button } from "../../ui/forms/Button";
import { MathText } from "../../ui/markdown/MathText";
import { AnswerView } from "./AnswerView";
import styles from "./chat.module.css";
import { QuestionForm } from "./QuestionForm";
import type { Decoding } from "./settings";
import { type Turn, useConversation } from "./useConversation";

interface TalkProps {
  model: string;
  decoding: Decoding;
}

/** A conversation with one model. */
export function Talk({ model, decoding }: TalkProps): ReactElement {
  const { turns, writing, error, ask, stop, clear } = useConversation(model, decoding);
  return (
    <>
      <ol className={styles.turns} aria-label={`Conversation with ${model}`} aria-live="polite">
        {turns.map((turn, index) => (
          <TurnView key={index} turn={turn} />
        ))}
        {writing === null ? null : <TurnView turn={writing} isWriting />}
      </ol>
      {error === null ? null : <ErrorNotice error={error} title="The model did not answer" />}
      <QuestionForm isBusy={writing !== null} onAsk={ask} onStop={stop}>
        {turns.length > 0 && writing === null ? (
          <Button kind="quiet" onClick={clear}>
            Begin anew
          </Button>
        ) : null}
      </QuestionForm>
    </>
  );
}

function TurnView({ turn, isWriting = false }: { turn: Turn; isWriting?: boolean }): ReactElement {
  return (
    <li className={styles.turn}>
      <div className={styles.question}>
        <MathText text={turn.question} />
      </div>
      <AnswerView answer={turn.answer} isWriting={isWriting} />
    </li>
  );
}
