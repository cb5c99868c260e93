import { type ReactElement, useMemo } from "react";
import type { Finding } from "../../../api/schema.gen";
import { MathText } from "../../../ui/markdown/MathText";
import { markedPieces } from "./marks";
import styles from "./findings.module.css";

interface MarkedTextProps {
  text: string;
  findings: readonly Finding[];
}

/** A text with its maths typeset and its findings underlined. `FindingList` describes them. */
export function MarkedText({ text, findings }: MarkedTextProps): ReactElement {
  const pieces = useMemo(
    () =>
      markedPieces(
        text,
        findings.map(({ span }) => span),
      ),
    [text, findings],
  );
  return (
    <p className={styles.text}>
      {pieces.map((piece, index) =>
        piece.marks.length === 0 ? (
          <MathText key={index} text={piece.text} />
        ) : (
          <mark key={index} className={styles.mark} title={piece.marks.map((mark) => findings[mark]?.code).join(", ")}>
            <MathText text={piece.text} />
          </mark>
        ),
      )}
    </p>
  );
}
