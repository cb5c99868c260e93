import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { demoQuery, inventoryQuery } from "../../api/home";
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

/** What is here, what is running, and the next sensible act. */
export function HomeScreen(): ReactElement {
  const inventory = useQuery(inventoryQuery);
  const demo = useQuery(demoQuery);
  return (
    <Page title="Home" actions={<CopyAs snippets={DOCTOR} />}>
      {inventory.isPending ? <Loading what="Counting what is here…" /> : null}
      {inventory.isError ? (
        <ErrorNotice
          error={inventory.error}
          title="The home could not be read"
          onRetry={() => void inventory.refetch()}
        />
      ) : null}
      {inventory.data === undefined ? null : (
        <>
          <NextStep step={nextStep(inventory.data)} />
          <InventoryCards inventory={inventory.data} />
        </>
      )}
      <div className={styles.columns}>
        {demo.data === undefined ? null : <DemoCard demo={demo.data} />}
        <RunningCard />
        <MachineCard />
      </div>
    </Page>
  );
}
