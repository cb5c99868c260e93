import { type ReactElement, useId } from "react";
import { Button } from "../forms/Button";
import { Checkbox } from "../forms/Checkbox";
import styles from "./charts.module.css";

interface CurveControlsProps {
  smoothing: number;
  onSmoothing: (smoothing: number) => void;
  isLog: boolean;
  onLog: (isLog: boolean) => void;
  isTable: boolean;
  onTable: (isTable: boolean) => void;
  onReset: () => void;
}

export function CurveControls(props: CurveControlsProps): ReactElement {
  const id = useId();
  return (
    <div className={styles.controls}>
      <label htmlFor={id}>Smoothing</label>
      <input
        id={id}
        type="range"
        min={0}
        max={0.99}
        step={0.01}
        value={props.smoothing}
        onChange={(event) => {
          props.onSmoothing(Number(event.target.value));
        }}
      />
      <Checkbox label="Log scale" isChecked={props.isLog} onChange={props.onLog} />
      <Checkbox label="Show as table" isChecked={props.isTable} onChange={props.onTable} />
      <Button kind="quiet" onClick={props.onReset}>
        Reset zoom
      </Button>
    </div>
  );
}
