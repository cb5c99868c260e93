import { type ReactElement, useMemo } from "react";
import { MathText } from "../../../ui/markdown/MathText";
import { type DiffPart, diffTexts } from "../../../ui/display/diff";
import styles from "./compare.module.css";

interface SideBySideProps {
  /** Null if this side has no text. */
  before: string | null;
  after: string | null;
}

/** Two versions of a text side by side, with the parts that only one of them has marked. */
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
      <OneSide text={before} parts={parts} kind="removed" />
      <OneSide text={after} parts={parts} kind="added" />
    </div>
  );
}

interface OneSideProps {
  text: string | null;
  parts: DiffPart[] | null;
  /** The kind of change that belongs to this side. */
  kind: "added" | "removed";
}

function OneSide({ text, parts, kind }: OneSideProps): ReactElement {
  if (text === null) return <p className={styles.nothing}>No matching step.</p>;
  if (parts === null) {
    return (
      <p className={styles.text}>
        <MathText text={text} />
      </p>
    );
  }
  const Tag = kind === "added" ? "ins" : "del";
  return (
    <p className={styles.text}>
      {parts.map((part, index) => {
        if (part.kind === "same") return <span key={index}>{part.text}</span>;
        return part.kind === kind ? <Tag key={index}>{part.text}</Tag> : null;
      })}
    </p>
  );
}
