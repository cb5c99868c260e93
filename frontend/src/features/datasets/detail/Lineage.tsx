import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { runsOfDatasetQuery } from "../queries";
import type { DatasetManifest } from "../../../api/schema.gen";
import { Card } from "../../../ui/display/Card";
import { formatCount } from "../../../ui/display/format";
import { StatusBadge } from "../../../ui/display/StatusBadge";
import styles from "../datasets.module.css";

/** The sources of this dataset and the runs that use it. */
export function Lineage({ manifest }: { manifest: DatasetManifest }): ReactElement {
  const parent = manifest.lineage.parent;
  return (
    <Card title="Lineage">
      <ol className={styles.chain}>
        <li>
          <strong>Traces</strong>
          <Link to="/traces">{formatCount(manifest.num_considered, "trace")} considered</Link>
        </li>
        {parent ? (
          <li>
            <strong>Parent</strong>
            <Link to="/datasets/$datasetKey" params={{ datasetKey: parent.dataset_key }}>
              {parent.dataset_key}
            </Link>
            <Link
              to="/datasets/$datasetKey/diff"
              params={{ datasetKey: parent.dataset_key }}
              search={{ other: manifest.dataset_key }}
            >
              View changes
            </Link>
          </li>
        ) : null}
        <li aria-current="true">
          <strong>This dataset</strong>
          {manifest.dataset_key}
        </li>
        <li>
          <strong>Runs</strong>
          <RunLinks datasetKey={manifest.dataset_key} />
        </li>
      </ol>
    </Card>
  );
}

function RunLinks({ datasetKey }: { datasetKey: string }): ReactElement {
  const runs = useQuery(runsOfDatasetQuery(datasetKey));
  if (runs.isPending) return <span>Loading runs…</span>;
  if (runs.isError) return <span>{runs.error.message}</span>;
  const { data, pagination } = runs.data;
  if (data.length === 0) return <span>none yet</span>;
  return (
    <>
      {data.map(({ run_id, status }) => (
        <span key={run_id} className={styles.run}>
          <Link to="/runs/$runId" params={{ runId: run_id }}>
            {run_id}
          </Link>
          <StatusBadge status={status} />
        </span>
      ))}
      {pagination.total > data.length ? (
        <Link to="/runs" search={{ dataset: datasetKey }}>
          All {formatCount(pagination.total, "run")}
        </Link>
      ) : null}
    </>
  );
}
