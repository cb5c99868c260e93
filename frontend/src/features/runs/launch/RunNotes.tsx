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

/** A summary of the run, the assumptions of the plan, and whether a worker is available. */
export function RunNotes({ preview, target }: RunNotesProps): ReactElement | null {
  const queue = useQuery({ ...queueQuery, refetchInterval: false });
  if (preview === undefined) return null;
  const hasWorker = queue.data?.workers.some(({ status }) => status === "active") ?? true;
  return (
    <>
      <Card title="Run">
        <Facts facts={factsOf(preview)} />
        {preview.dataset === "" ? (
          <p>
            Choose a dataset to launch the run. No suitable dataset? <Link to="/datasets/new">Build one</Link>.
          </p>
        ) : null}
        {target?.is_here === false ? (
          <p>It will wait for a worker with a {target.platform.toUpperCase()}. The plan is computed on this machine.</p>
        ) : null}
        {hasWorker ? null : (
          <>
            <p>No worker is running. Start one:</p>
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
      <summary>Assumptions</summary>
      <ul className={styles.basis}>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}
