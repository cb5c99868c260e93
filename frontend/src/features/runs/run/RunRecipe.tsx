import type { ReactElement } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { copyText } from "../../../ui/copy/CopyAs";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import styles from "./run.module.css";
import { toYaml } from "./yaml";

interface Override {
  key: string;
  recipe_value: unknown;
  used_value: unknown;
  reason: string;
}

/** Exactly this run's recipe: every value, and every one that is not the recipe's own with its reason. */
export function RunRecipe({ run }: { run: RunDetail }): ReactElement {
  const { overrides, ...recipe } = run.recipe;
  const yaml = toYaml(recipe);
  return (
    <>
      <Card title={`What differs from ${run.recipe_name}`}>
        <Overrides overrides={(overrides ?? []) as Override[]} />
      </Card>
      <Card title="The resolved recipe">
        <div>
          <Button onClick={() => void copyText(yaml, "the recipe")}>Copy as YAML</Button>
        </div>
        {/* What scrolls must be reachable with the keyboard. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre className={styles.recipe} tabIndex={0} aria-label="The resolved recipe as YAML">
          {yaml}
        </pre>
      </Card>
    </>
  );
}

function Overrides({ overrides }: { overrides: readonly Override[] }): ReactElement {
  if (overrides.length === 0) return <p>Nothing: it runs as it is written.</p>;
  return (
    <div className={styles.scroller}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Recipe</th>
            <th scope="col">This run</th>
            <th scope="col">Because of</th>
          </tr>
        </thead>
        <tbody>
          {overrides.map(({ key, recipe_value, used_value, reason }) => (
            <tr key={key}>
              <th scope="row">
                <code>{key}</code>
              </th>
              <td>{JSON.stringify(recipe_value)}</td>
              <td>{JSON.stringify(used_value)}</td>
              <td>{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
