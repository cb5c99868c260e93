import { type ReactElement, type ReactNode, useState } from "react";
import { Button } from "../../ui/forms/Button";
import { TextArea } from "../../ui/forms/TextArea";
import styles from "./chat.module.css";

interface QuestionFormProps {
  isBusy: boolean;
  onAsk: (question: string) => void;
  onStop: () => void;
  /** Additional buttons. */
  children?: ReactNode;
}

/** The message form. Enter sends, Shift + Enter inserts a new line. */
export function QuestionForm({ isBusy, onAsk, onStop, children }: QuestionFormProps): ReactElement {
  const [text, setText] = useState("");
  const ask = (): void => {
    if (isBusy || text.trim() === "") return;
    onAsk(text.trim());
    setText("");
  };
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <TextArea
        label="Message"
        help="Enter sends, Shift + Enter inserts a new line"
        rows={3}
        value={text}
        onChange={setText}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          ask();
        }}
      />
      <div className={styles.buttons}>
        {isBusy ? (
          <Button onClick={onStop}>Stop</Button>
        ) : (
          <Button type="submit" kind="primary" disabled={text.trim() === ""}>
            Send
          </Button>
        )}
        {children}
      </div>
    </form>
  );
}
