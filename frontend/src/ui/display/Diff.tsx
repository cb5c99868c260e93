import { type ReactElement, useMemo } from "react";
import { diffTexts } from "./diff";
import styles from "./display.module.css";

/** An inline diff: removed text is struck through, added text underlined. */
export function Diff({ before, after }: { before: string; after: string }): ReactElement {
  const parts = useMemo(() => diffTexts(before, after), [before, after]);
  const tags = { same: "span", added: "ins", removed: "del" } as const;
  return (
    <div className={styles.diff}>
      {parts.map(({ kind, text }, index) => {
        const Tag = tags[kind];
        return <Tag key={index}>{text}</Tag>;
      })}
    </div>
  );
}
