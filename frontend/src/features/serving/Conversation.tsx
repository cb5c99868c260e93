import type { ReactElement } from "react";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Button } from "../../ui/forms/Button";
import { MathText } from "../../ui/markdown/MathText";
import { AnswerView } from "./AnswerView";
import styles from "./chat.module.css";
import { QuestionForm } from "./QuestionForm";
import type { Decoding } from "./settings";
import { type Turn, useConversation } from "./useConversation";

interface ConversationProps {
  model: string;
  decoding: Decoding;
}

/** A conversation with one model. */
export function Conversation({ model, decoding }: ConversationProps): ReactElement {
  const { turns, pending, error, ask, stop, clear } = useConversation(model, decoding);
  return (
    <>
      <ol className={styles.turns} aria-label={`Conversation with ${model}`} aria-live="polite">
        {turns.map((turn, index) => (
          <TurnView key={index} turn={turn} />
        ))}
        {pending === null ? null : <TurnView turn={pending} isWriting />}
      </ol>
      {error === null ? null : <ErrorNotice error={error} title="The model did not answer" />}
      <QuestionForm isBusy={pending !== null} onAsk={ask} onStop={stop}>
        {turns.length > 0 && pending === null ? (
          <Button kind="quiet" onClick={clear}>
            New conversation
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
