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

/** The changes that make it fit, the cheapest first, each one click away. */
export function FixList({ plan, recipe, search, change }: FixListProps): ReactElement | null {
  const fixes = [...(plan.fixes ?? []).map(memoryFix), ...sessionFixes(plan, recipe)];
  if (fixes.length === 0 && plan.fits && plan.fits_session !== false) return null;
  return (
    <section className={styles.part}>
      <h3>What would make it fit, the cheapest first</h3>
      {fixes.length === 0 ? (
        <p>No change of these settings is enough. Choose a smaller model, or a larger target.</p>
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
  const figures = `${formatBytes(per_device_bytes)}, ${formatDuration(step_seconds)} a step (${source})`;
  return { changes: changesOf(change), cost, figures };
}

function sessionFixes(plan: Plan, recipe: Record<string, unknown>): Fix[] {
  // What does not fit into memory changes first, and with it the time that a step takes.
  if (!plan.fits || plan.fits_session !== false || plan.session_seconds == null) return [];
  const training = recipe.training as { num_epochs?: number | null } | undefined;
  const changes = shorterTraining(plan.step_seconds, plan.session_seconds, training?.num_epochs != null);
  const figures = `ends after 90 % of the session's ${formatDuration(plan.session_seconds)}`;
  return [{ changes, cost: "fewer steps are trained", figures }];
}
