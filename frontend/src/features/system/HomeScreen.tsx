import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { DemoState } from "../../api/schema.gen";
import { Command } from "../../ui/copy/Command";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { formatNumber } from "../../ui/display/format";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { buttonClass } from "../../ui/forms/Button";
import { Page } from "../../ui/layout/Page";
import { DemoCard } from "./DemoCard";
import styles from "./home.module.css";
import { MachineCard } from "./MachineCard";
import { nextStep, type Step } from "./nextSteps";
import { demoQuery, type Inventory, inventoryQuery } from "./queries";
import { RunningCard } from "./RunningCard";

const DOCTOR = snippets({ cli: "tunix-rt doctor", path: "/api/doctor" });

/** The home screen: inventory, latest runs and the next step. */
export function HomeScreen(): ReactElement {
  const inventory = useQuery(inventoryQuery);
  const { data: demo } = useQuery(demoQuery);
  return (
    <Page
      title="Home"
      about="From worked solutions to a small model that reasons step by step."
      actions={<CopyAs snippets={DOCTOR} />}
    >
      {inventory.isPending ? <Loading what="Loading inventory…" /> : null}
      {inventory.isError ? (
        <ErrorNotice error={inventory.error} title="Could not load the home" onRetry={() => void inventory.refetch()} />
      ) : null}
      {inventory.data === undefined ? null : <Overview inventory={inventory.data} demo={demo} />}
      <div className={styles.columns}>
        <div className={styles.column}>
          <RunningCard />
          {demo === undefined || isDemoFirst(demo, inventory.data) ? null : <DemoCard demo={demo} />}
        </div>
        <MachineCard />
      </div>
    </Page>
  );
}

function Overview({ inventory, demo }: { inventory: Inventory; demo: DemoState | undefined }): ReactElement {
  return (
    <>
      <div className={styles.start}>
        <NextStep step={nextStep(inventory)} />
        {demo !== undefined && isDemoFirst(demo, inventory) ? <DemoCard demo={demo} /> : null}
      </div>
      <InventoryCards inventory={inventory} />
    </>
  );
}

/** An empty home shows the demo first, including its progress. */
function isDemoFirst({ status }: DemoState, inventory: Inventory | undefined): boolean {
  return status === "running" || (status !== "succeeded" && inventory?.numTraces === 0);
}

/** Counts of all items, each with a link to its screen. */
function InventoryCards({ inventory }: { inventory: Inventory }): ReactElement {
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

/** The next step as a button and a command. */
function NextStep({ step }: { step: Step }): ReactElement {
  return (
    <section className={styles.next} aria-label="Next step">
      <p className={styles.overline}>Next step</p>
      <h2>{step.title}</h2>
      <p>{step.why}</p>
      <div className={styles.actions}>
        <Link to={step.to} className={buttonClass("primary")}>
          {step.label}
        </Link>
        <span>or run</span>
        <Command>{step.command}</Command>
      </div>
    </section>
  );
}
