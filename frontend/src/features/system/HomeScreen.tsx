import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { demoQuery, type Inventory, inventoryQuery } from "./queries";
import type { DemoState } from "../../api/schema.gen";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { Page } from "../../ui/Page";
import { DemoCard } from "./DemoCard";
import styles from "./home.module.css";
import { InventoryCards } from "./InventoryCards";
import { MachineCard } from "./MachineCard";
import { NextStep } from "./NextStep";
import { nextStep } from "./nextSteps";
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
