import type { ReactElement } from "react";
import type { MetricsLine } from "../../../api/schema.gen";
import { Curve } from "../../../ui/charts/Curve";
import type { Series } from "../../../ui/charts/series";
import type { LiveRun } from "./live";
import styles from "./run.module.css";

/** The metrics of every step, live. */
export function RunCurves({ live }: { live: LiveRun }): ReactElement {
  const { steps, validations } = live;
  const validation: Series = {
    name: "validation",
    xs: validations.map(({ step }) => step),
    ys: validations.map((line) => line.validation_loss),
  };
  const loss = seriesOf("training", steps, ({ loss }) => loss);
  return (
    <div className={styles.curves}>
      <Curve
        title="Loss"
        series={validations.length > 0 ? [loss, validation] : [loss]}
        xLabel="step"
        yLabel="loss (nats per token)"
      />
      <Curve
        title="Learning rate"
        series={[seriesOf("learning rate", steps, ({ lr }) => lr)]}
        xLabel="step"
        yLabel="learning rate"
      />
      <Curve
        title="Gradient norm"
        series={[seriesOf("before clipping", steps, ({ grad_norm }) => grad_norm)]}
        xLabel="step"
        yLabel="norm"
      />
      <Curve
        title="Speed"
        series={[seriesOf("tokens/s", steps, ({ tokens_per_s }) => tokens_per_s ?? null)]}
        xLabel="step"
        yLabel="tokens/s"
      />
    </div>
  );
}

function seriesOf(name: string, steps: readonly MetricsLine[], value: (line: MetricsLine) => number | null): Series {
  return { name, xs: steps.map(({ step }) => step), ys: steps.map(value) };
}
