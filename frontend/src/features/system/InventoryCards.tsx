import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Inventory } from "./queries";
import { formatNumber } from "../../ui/display/format";
import styles from "./home.module.css";

/** Counts of all items, each with a link to its screen. */
export function InventoryCards({ inventory }: { inventory: Inventory }): ReactElement {
  const counts = [
    { to: "/traces", label: "Traces", count: inventory.numTraces },
    { to: "/datasets", label: "Datasets", count: inventory.numDatasets },
    { to: "/runs", label: "Runs", count: inventory.numRuns },
    { to: "/evaluations", label: "Evaluations", count: inventory.numEvaluations },
    { to: "/models", label: "Models", count: inventory.numModels },
  ] as const;
  return (
    <ul className={styles.inventory} aria-label="Inventory">
      {counts.map(({ to, label, count }) => (
        <li key={to}>
          <Link to={to}>
            <strong>{formatNumber(count)}</strong> {label}
          </Link>
        </li>
      ))}
    </ul>
  );
}
