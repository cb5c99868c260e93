import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { seriesColour, seriesDash } from "../../../ui/charts/series";
import { shortRunName } from "../../../ui/display/format";
import styles from "./compare.module.css";

/** The line style of a run. */
export function LineSample({ index }: { index: number }): ReactElement {
  return (
    <svg aria-hidden="true" viewBox="0 0 28 12" className={styles.key}>
      <line
        x1="0"
        x2="28"
        y1="6"
        y2="6"
        stroke={seriesColour(index)}
        strokeWidth="3"
        strokeDasharray={seriesDash(index).join(" ")}
      />
    </svg>
  );
}

/** A run with its line style and a link. */
export function RunLegend({ runId, index }: { runId: string; index: number }): ReactElement {
  return (
    <span className={styles.named}>
      <LineSample index={index} />
      <Link to="/runs/$runId" params={{ runId }} title={runId}>
        {shortRunName(runId)}
      </Link>
    </span>
  );
}

/** A run and its position in the selection, which determines its colour. */
export interface ComparedRun {
  run: RunDetail;
  index: number;
}
