import type { ReactElement } from "react";
import type { Plan, PlanFix } from "../../../api/schema.gen";
import { Button } from "../../../ui/forms/Button";
import { formatBytes, formatDuration } from "../../../ui/display/format";
import styles from "./launch.module.css";
import { changesOf, shorterTraining, withSettings } from "./request";
import type { ChangeSearch, LaunchSearch } from "./search";

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
export function FixList({ plan, recipe, search, change }: FixListProps): ReactElement | null {
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
