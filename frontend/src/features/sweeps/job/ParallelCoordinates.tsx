import { type ReactElement, useEffect, useRef, useState } from "react";
import type { TuningJobDetail, TuningTrial } from "../../../api/schema.gen";
import styles from "../sweeps.module.css";
import { type Axis, axesOf, bestTrial, drawnTrials, numberOf } from "./axes";

interface ParallelCoordinatesProps {
  job: TuningJobDetail;
  /** The number of the highlighted trial. Defaults to the best one. */
  chosen: number | undefined;
  onChoose: (number: number | undefined) => void;
}

const [HEIGHT, TOP, BOTTOM, SIDE] = [280, 36, 16, 72];
const MIN_AXIS_WIDTH = 136;

/** A parallel-coordinates plot of the trials. The table below has the same numbers. */
export function ParallelCoordinates({ job, chosen, onChoose }: ParallelCoordinatesProps): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const axes = axesOf(job);
  const trials = drawnTrials(job.trials);
  const best = bestTrial(job);
  const front = trials.find((trial) => numberOf(trial) === chosen) ?? best;
  const drawnWidth = Math.max(width, 2 * SIDE + (axes.length - 1) * MIN_AXIS_WIDTH);
  const x = (index: number): number => SIDE + (index / Math.max(axes.length - 1, 1)) * (drawnWidth - 2 * SIDE);
  return (
    <figure className={styles.figure} aria-label="Parallel coordinates">
      <figcaption>
        <h3>Parallel coordinates</h3>
        <p className={styles.muted}>
          {caption(job, trials.length)} {front === undefined ? "" : `Trial ${numberOf(front)} is highlighted.`} Click a
          line to highlight its trial.
        </p>
      </figcaption>
      {/* A scrollable region must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div ref={host} className={styles.scroller} role="region" aria-label="Parallel coordinates" tabIndex={0}>
        <svg
          role="img"
          aria-label={`${trials.length} trials over ${axes.length} axes`}
          width={drawnWidth}
          height={HEIGHT}
        >
          {[...trials.filter((trial) => trial !== front), ...(front ? [front] : [])].map((trial) => (
            <TrialLine
              key={trial.id}
              trial={trial}
              points={pointsOf(trial, axes, x)}
              isFront={trial === front}
              onChoose={() => {
                onChoose(numberOf(trial) === chosen ? undefined : numberOf(trial));
              }}
            />
          ))}
          {axes.map((axis, index) => (
            <AxisLine key={axis.key} axis={axis} x={x(index)} />
          ))}
        </svg>
      </div>
    </figure>
  );
}

interface TrialLineProps {
  trial: TuningTrial;
  points: string;
  isFront: boolean;
  onChoose: () => void;
}

// Keyboard users select a trial in the table; the line is a shortcut for the mouse.
function TrialLine({ trial, points, isFront, onChoose }: TrialLineProps): ReactElement {
  return (
    <g className={styles.line} data-front={isFront || undefined} data-pruned={trial.status === "pruned" || undefined}>
      <title>{`Trial ${numberOf(trial)}, ${trial.status}`}</title>
      <polyline points={points} />
      <polyline className={styles.target} points={points} onClick={onChoose} />
    </g>
  );
}

function AxisLine({ axis, x }: { axis: Axis; x: number }): ReactElement {
  return (
    <g className={styles.axis}>
      <text x={x} y={16} textAnchor="middle" className={styles.axisName}>
        {axis.label}
      </text>
      <line x1={x} x2={x} y1={TOP} y2={HEIGHT - BOTTOM} />
      {axis.ticks.map(({ at, label }) => (
        <text key={`${at}`} x={x + 6} y={y(at) + 4}>
          {label}
        </text>
      ))}
    </g>
  );
}

function pointsOf(trial: TuningTrial, axes: readonly Axis[], x: (index: number) => number): string {
  const places = axes.map((axis, index) => [x(index), axis.placeOf(trial)] as const);
  return places.flatMap(([at, place]) => (place === null ? [] : [`${at},${y(place)}`])).join(" ");
}

function y(place: number): number {
  return TOP + (1 - place) * (HEIGHT - TOP - BOTTOM);
}

function caption({ trials }: TuningJobDetail, numDrawn: number): string {
  const numLeft = trials.length - numDrawn;
  const left = numLeft === 0 ? "" : ` ${numLeft} without a value ${numLeft === 1 ? "is" : "are"} not drawn.`;
  const pruned = trials.some(({ status }) => status === "pruned") ? " Dashed: pruned." : "";
  return `One line per trial, ${numDrawn} shown.${left}${pruned}`;
}

function useWidth(host: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      setWidth(element.clientWidth);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [host]);
  return width;
}
