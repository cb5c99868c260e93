import { lazy, type ReactElement, Suspense } from "react";
import { mathParts } from "./mathParts";
import styles from "../display/display.module.css";

const Formula = lazy(() => import("./Formula").then((module) => ({ default: module.Formula })));

/** A text whose formulas (`$…$`, `$$…$$`, `\(…\)`, `\[…\]`) are typeset. KaTeX is loaded only when needed. */
export function MathText({ text }: { text: string }): ReactElement {
  return (
    <span className={styles.maths}>
      {mathParts(text).map((part, index) =>
        part.kind === "text" ? (
          part.text
        ) : (
          <Suspense key={index} fallback={<code>{part.text}</code>}>
            <Formula tex={part.text} isBlock={part.kind === "block"} />
          </Suspense>
        ),
      )}
    </span>
  );
}
