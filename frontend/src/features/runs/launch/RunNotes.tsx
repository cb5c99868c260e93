import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { queueQuery } from "../queries";
import type { PlanTarget, RunPreview } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { Card } from "../../../ui/display/Card";
import { Facts } from "../../../ui/display/Facts";
import { formatNumber, formatValue } from "../../../ui/display/format";
import styles from "./launch.module.css";

interface RunNotesProps {
  preview: RunPreview | undefined;
  target: PlanTarget | undefined;
}

/** What will run, on what the plan rests, and whether anybody will take it. */
export function RunNotes({ preview, target }: RunNotesProps): ReactElement | null {
  const queue = useQuery({ ...queueQuery, refetchInterval: false });
  if (preview === undefined) return null;
  const hasWorker = queue.data?.workers.some(({ status }) => status === "active") ?? true;
  return (
    <>
      <Card title="The run">
        <Facts facts={factsOf(preview)} />
        {preview.dataset === "" ? (
          <p>
            Choose a dataset to run it. There is none that fits? <Link to="/datasets/new">Build one</Link>.
          </p>
        ) : null}
        {target?.is_here === false ? (
          <p>
            It waits for a worker whose machine has a {target.platform.toUpperCase()}; this page plans it from here.
          </p>
        ) : null}
        {hasWorker ? null : (
          <>
            <p>No worker is there to take it. Start one:</p>
            <Command>tunix-rt worker</Command>
          </>
        )}
      </Card>
      <Basis preview={preview} />
    </>
  );
}

function factsOf(preview: RunPreview): Record<string, string> {
  const { data, training } = preview.recipe as { data: Settings; training: Settings };
  return {
    Model: preview.model,
    Dataset: preview.dataset || "none",
    Mode: preview.mode,
    Engine: `${preview.engine}: ${preview.engine_reason}`,
    "Batch size": `${formatNumber(training.batch_size as number)} rows of ${formatNumber(data.row_length as number)} tokens`,
    "Learning rate": formatValue(training.learning_rate as number),
  };
}

type Settings = Record<string, unknown>;

function Basis({ preview }: { preview: RunPreview }): ReactElement | null {
  const lines = [...(preview.plan?.assumptions ?? []), ...(preview.plan?.notes ?? [])];
  if (lines.length === 0) return null;
  return (
    <details className={styles.more}>
      <summary>On what the plan rests</summary>
      <ul className={styles.basis}>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
