import type { ReactElement } from "react";
import type { Plan, PlanFix, RunPreview } from "../../../api/schema.gen";
import { StackedBar } from "../../../ui/charts/StackedBar";
import { classes } from "../../../ui/classes";
import { Badge } from "../../../ui/display/Badge";
import { Card } from "../../../ui/display/Card";
import { formatBytes, formatCount, formatDuration, formatNumber } from "../../../ui/display/format";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button } from "../../../ui/forms/Button";
import { Checkbox } from "../../../ui/forms/Checkbox";
import styles from "./launch.module.css";
import type { PlanState } from "./LaunchPlan";
import { changesOf, shorterTraining, withSettings } from "./request";
import type { ChangeSearch, LaunchSearch } from "./search";

interface PlanPanelProps {
  plan: PlanState;
  compile: () => void;
  isCompiling: boolean;
  search: LaunchSearch;
  change: ChangeSearch;
}

/** The plan: memory, time, and changes that make it fit. */
export function PlanPanel({ plan, compile, isCompiling, search, change }: PlanPanelProps): ReactElement {
  if (plan.error) return <ErrorNotice error={plan.error} title="Could not plan this run" onRetry={plan.refetch} />;
  if (plan.data === undefined) return <Loading what="Planning…" />;
  const { plan: current } = plan.data;
  if (current == null) return <NotPlanned preview={plan.data} />;
  return (
    <Card title="Plan">
      <div className={classes(styles.plan, plan.isStale && styles.old)} aria-busy={plan.isStale}>
        <Verdict plan={current} />
        <Memory plan={current} compile={compile} isCompiling={isCompiling} engine={plan.data.engine} />
        <Time plan={current} />
        <FixList plan={current} recipe={plan.data.recipe} search={search} change={change} />
        {current.fits ? null : (
          <Checkbox
            label="Run it even though it does not fit (recorded in the evidence)"
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
          Exceeds the session
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
      <h3>Memory per device</h3>
      <StackedBar
        label="Memory per device"
        parts={parts}
        format={formatBytes}
        limit={{ name: "Limit", value: plan.limit_bytes }}
      />
      <p className={styles.muted}>
        {plan.source === "compiled" ? "Measured by compiling this step" : "Estimated from sizes"}; {devices}{" "}
        {plan.num_target_devices === 1 ? "device" : "devices"}.
      </p>
      {plan.source === "estimated" && engine === "jax" ? (
        <div>
          <Button isBusy={isCompiling} onClick={compile}>
            {isCompiling ? "Compiling, may take minutes…" : "Compile for exact memory"}
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
          label="Training time"
          parts={[{ name: "Training", value: total_seconds }]}
          format={formatDuration}
          limit={{ name: "Session", value: session_seconds }}
        />
      ) : null}
      <p>
        {isKnown
          ? `${formatDuration(total_seconds)}: ${formatCount(num_steps, "step")} of ${formatDuration(plan.step_seconds)}`
          : `${formatDuration(plan.step_seconds)} per step; number of steps unknown without a dataset`}
        , {formatNumber(plan.tokens_per_step)} tokens per step. All times are estimates.
      </p>
    </section>
  );
}

interface FixListProps {
  plan: Plan;
  recipe: Record<string, unknown>;
  search: LaunchSearch;
  change: ChangeSearch;
}

interface Fix {
  changes: string[];
  cost: string;
  figures: string;
}

/** The changes that make the plan fit, cheapest first, each with an apply button. */
function FixList({ plan, recipe, search, change }: FixListProps): ReactElement | null {
  const fixes = [...(plan.fixes ?? []).map(memoryFix), ...sessionFixes(plan, recipe)];
  if (fixes.length === 0 && plan.fits && plan.fits_session !== false) return null;
  return (
    <section className={styles.part}>
      <h3>Changes to make it fit, cheapest first</h3>
      {fixes.length === 0 ? (
        <p>No change of these settings is sufficient. Choose a smaller model or a larger target.</p>
      ) : null}
      <ol className={styles.fixes}>
        {fixes.map(({ changes, cost, figures }) => (
          <li key={changes.join(" ")}>
            <div>
              <p>
                {changes.map((one) => (
                  <code key={one}>{one} </code>
                ))}
              </p>
              <p className={styles.muted}>
                {figures}; {cost}
              </p>
            </div>
            <Button
              aria-label={`Apply ${changes.join(" ")}`}
              onClick={() => {
                change({ set: withSettings(search.set ?? [], changes) });
              }}
            >
              Apply
            </Button>
          </li>
        ))}
      </ol>
    </section>
  );
}

function memoryFix({ change, cost, per_device_bytes, step_seconds, source }: PlanFix): Fix {
  const figures = `${formatBytes(per_device_bytes)}, ${formatDuration(step_seconds)} per step (${source})`;
  return { changes: changesOf(change), cost, figures };
}

function sessionFixes(plan: Plan, recipe: Record<string, unknown>): Fix[] {
  // Fix memory first, because it changes the step time.
  if (!plan.fits || plan.fits_session !== false || plan.session_seconds == null) return [];
  const training = recipe.training as { num_epochs?: number | null } | undefined;
  const changes = shorterTraining(plan.step_seconds, plan.session_seconds, training?.num_epochs != null);
  const figures = `ends after 90 % of the ${formatDuration(plan.session_seconds)} session`;
  return [{ changes, cost: "trains fewer steps", figures }];
}
