import { type ReactElement, useMemo } from "react";
import { MathText } from "../../../ui/markdown/MathText";
import { type DiffPart, diffTexts } from "../../../ui/display/diff";
import styles from "./compare.module.css";

interface SideBySideProps {
  /** Null: there is nothing on this side. */
  before: string | null;
  after: string | null;
}

/** Two versions of a text beside each other: what only one has is marked on its side. */
export function SideBySide({ before, after }: SideBySideProps): ReactElement {
  const parts = useMemo(
    () => (before === null || after === null || before === after ? null : diffTexts(before, after)),
    [before, after],
  );
  if (before !== null && before === after) {
    return (
      <p className={styles.text}>
        <MathText text={before} />
      </p>
    );
  }
  return (
    <div className={styles.sides}>
      <Half text={before} parts={parts} kind="removed" />
      <Half text={after} parts={parts} kind="added" />
    </div>
  );
}

interface HalfProps {
  text: string | null;
  parts: DiffPart[] | null;
  /** What belongs to this side alone. */
  kind: "added" | "removed";
}

function Half({ text, parts, kind }: HalfProps): ReactElement {
  if (text === null) return <p className={styles.nothing}>No such step.</p>;
  if (parts === null) {
    return (
      <p className={styles.text}>
        <MathText text={text} />
      </p>
    );
  }
  const Own = kind === "added" ? "ins" : "del";
  return (
    <p className={styles.text}>
      {parts.map((part, index) => {
        if (part.kind === "same") return <span key={index}>{part.text}</span>;
        return part.kind === kind ? <Own key={index}>{part.text}</Own> : null;
      })}
    </p>
  );
}
