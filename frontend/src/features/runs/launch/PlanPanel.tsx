import type { ReactElement } from "react";
import type { Plan, RunPreview } from "../../../api/schema.gen";
import { StackedBar } from "../../../ui/charts/StackedBar";
import { classes } from "../../../ui/classes";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button } from "../../../ui/forms/Button";
import { Checkbox } from "../../../ui/forms/Checkbox";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { formatBytes, formatCount, formatDuration, formatNumber } from "../../../ui/display/format";
import { FixList } from "./FixList";
import styles from "./launch.module.css";
import type { PlanAnswer } from "./LaunchPlan";
import type { ChangeSearch, LaunchSearch } from "./search";

interface PlanPanelProps {
  plan: PlanAnswer;
  compile: () => void;
  isCompiling: boolean;
  search: LaunchSearch;
  change: ChangeSearch;
}

/** Whether it fits, how long it takes, and what would make it fit. */
export function PlanPanel({ plan, compile, isCompiling, search, change }: PlanPanelProps): ReactElement {
  if (plan.error) return <ErrorNotice error={plan.error} title="This cannot be planned" onRetry={plan.refetch} />;
  if (plan.data === undefined) return <Loading what="Planning…" />;
  const { plan: made } = plan.data;
  if (made == null) return <NotPlanned preview={plan.data} />;
  return (
    <Card title="The plan">
      <div className={classes(styles.plan, plan.isOld && styles.old)} aria-busy={plan.isOld}>
        <Verdict plan={made} />
        <Memory plan={made} compile={compile} isCompiling={isCompiling} engine={plan.data.engine} />
        <Time plan={made} />
        <FixList plan={made} recipe={plan.data.recipe} search={search} change={change} />
        {made.fits ? null : (
          <Checkbox
            label="Run it although it does not fit; the evidence will say so"
            isChecked={search.force ?? false}
            onChange={(force) => {
              change({ force: force || undefined });
            }}
          />
        )}
      </div>
    </Card>
  );
}

function NotPlanned({ preview }: { preview: RunPreview }): ReactElement {
  return (
    <Card title="No plan">
      <p>{preview.notes?.join(" ")}</p>
    </Card>
  );
}

function Verdict({ plan }: { plan: Plan }): ReactElement {
  const isLate = plan.fits_session === false;
  return (
    <div role="status" className={styles.verdict}>
      <Badge kind={plan.fits ? "good" : "bad"} sign={plan.fits ? "✓" : "✕"}>
        {plan.fits ? "Fits" : "Does not fit"}
      </Badge>
      {isLate ? (
        <Badge kind="bad" sign="✕">
          Longer than the session
        </Badge>
      ) : null}
      <p>{plan.reason}</p>
    </div>
  );
}

interface MemoryProps {
  plan: Plan;
  engine: string;
  compile: () => void;
  isCompiling: boolean;
}

function Memory({ plan, engine, compile, isCompiling }: MemoryProps): ReactElement {
  const parts = Object.entries(plan.components)
    .filter(([, value]) => value > 0)
    .map(([name, value]) => ({ name: name.replaceAll("_", " "), value }));
  const devices = `${formatNumber(plan.num_devices)} of ${formatNumber(plan.num_target_devices)}`;
  return (
    <section className={styles.part}>
      <h3>Memory of one device</h3>
      <StackedBar
        label="Memory of one device"
        parts={parts}
        format={formatBytes}
        limit={{ name: "Limit", value: plan.limit_bytes }}
      />
      <p className={styles.muted}>
        {plan.source === "compiled" ? "From the compiler, for this very step" : "Estimated from sizes"}; {devices}{" "}
        {plan.num_target_devices === 1 ? "device" : "devices"}.
      </p>
      {plan.source === "estimated" && engine === "jax" ? (
        <div>
          <Button isBusy={isCompiling} onClick={compile}>
            {isCompiling ? "Compiling: up to some minutes…" : "Ask the compiler"}
          </Button>
        </div>
      ) : null}
    </section>
  );
}

function Time({ plan }: { plan: Plan }): ReactElement {
  const { num_steps, total_seconds, session_seconds } = plan;
  const isKnown = num_steps != null && total_seconds != null;
  return (
    <section className={styles.part}>
      <h3>Time</h3>
      {isKnown && session_seconds != null ? (
        <StackedBar
          label="Time of the training"
          parts={[{ name: "Training", value: total_seconds }]}
          format={formatDuration}
          limit={{ name: "Session", value: session_seconds }}
        />
      ) : null}
      <p>
        {isKnown
          ? `${formatDuration(total_seconds)}: ${formatCount(num_steps, "step")} of ${formatDuration(plan.step_seconds)}`
          : `${formatDuration(plan.step_seconds)} a step; how many steps is not known without a dataset`}
        , {formatNumber(plan.tokens_per_step)} tokens a step. Always an estimate.
      </p>
    </section>
  );
}
