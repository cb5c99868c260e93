import type { ReactElement } from "react";
import type { RunDetail } from "../../../api/schema.gen";
import { copyText } from "../../../ui/copy/CopyAs";
import { Card } from "../../../ui/display/Card";
import { Button } from "../../../ui/forms/Button";
import styles from "./run.module.css";

interface Override {
  key: string;
  recipe_value: unknown;
  used_value: unknown;
  reason: string;
}

/** The resolved recipe of the run, and its overrides with their reasons. */
export function RunRecipe({ run }: { run: RunDetail }): ReactElement {
  const { overrides, ...recipe } = run.recipe;
  const yaml = toYaml(recipe);
  return (
    <>
      <Card title={`Overrides of ${run.recipe_name}`}>
        <Overrides overrides={(overrides ?? []) as Override[]} />
      </Card>
      <Card title="Resolved recipe">
        <div>
          <Button onClick={() => void copyText(yaml, "the recipe")}>Copy as YAML</Button>
        </div>
        {/* A scrollable region must be reachable by keyboard. */}
        {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre className={styles.recipe} tabIndex={0} aria-label="Resolved recipe as YAML">
          {yaml}
        </pre>
      </Card>
    </>
  );
}

function Overrides({ overrides }: { overrides: readonly Override[] }): ReactElement {
  if (overrides.length === 0) return <p>No overrides.</p>;
  return (
    <div className={styles.scroller}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Recipe</th>
            <th scope="col">This run</th>
            <th scope="col">Reason</th>
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

const PLAIN = /^[A-Za-z_./@][\w./@ -]*$/;
const RESERVED = /^(true|false|null|yes|no|on|off|~)$/i;

/**
 * Renders sections, lists and values as YAML, which covers recipes.
 *
 * @example
 * toYaml({ data: { row_length: 64 } }) // "data:\n  row_length: 64\n"
 */
export function toYaml(values: Record<string, unknown>, indent = ""): string {
  return Object.entries(values)
    .map(([key, value]) => {
      if (isSection(value)) return `${indent}${key}:\n${toYaml(value, `${indent}  `)}`;
      return `${indent}${key}: ${scalar(value)}\n`;
    })
    .join("");
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function scalar(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(scalar).join(", ")}]`;
  const isPlain = typeof value === "string" && PLAIN.test(value) && !RESERVED.test(value);
  return isPlain ? value : JSON.stringify(value ?? null);
}
