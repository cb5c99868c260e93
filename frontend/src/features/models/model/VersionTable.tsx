import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ModelVersion } from "../../../api/schema.gen";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { Badge } from "../../../ui/display/Badge";
import { formatAgo, formatBytes, formatTime, formatValue, UNKNOWN } from "../../../ui/display/format";
import styles from "../models.module.css";

const COLUMNS = [
  { header: "Version" },
  { header: "Aliases" },
  { header: "Weights" },
  { header: "Run" },
  { header: "Dataset" },
  { header: "Final loss", align: "end" as const },
  { header: "Registered" },
];

/** Every version, newest first. */
export function VersionTable({ versions }: { versions: readonly ModelVersion[] }): ReactElement {
  const rows = versions.map((version) => ({ key: version.id, cells: cellsOf(version) }));
  return <PlainTable name="Versions" columns={COLUMNS} rows={rows} />;
}

function cellsOf(version: ModelVersion): ReactElement[] {
  const { run_id, dataset, figures } = version.lineage;
  return [
    <Link key="version" to="/models/versions/$versionId" params={{ versionId: version.id }}>
      {version.model}:{version.version}
      {version.label ? ` (${version.label})` : ""}
    </Link>,
    <AliasBadges key="aliases" aliases={version.aliases ?? []} />,
    <>{`${version.kind === "adapter" ? "adapter" : "full model"}, ${formatBytes(version.size_bytes)}`}</>,
    <RunLink key="run" runId={run_id ?? null} />,
    <DatasetLink key="dataset" datasetKey={dataset ?? null} />,
    <>{formatValue(figures?.final_loss)}</>,
    <time key="created" title={formatTime(version.created_at)}>
      {formatAgo(version.created_at)}
    </time>,
  ];
}

/** The aliases of a version. */
export function AliasBadges({ aliases }: { aliases: readonly string[] }): ReactElement {
  if (aliases.length === 0) return <>{UNKNOWN}</>;
  return (
    <span className={styles.badges}>
      {aliases.map((alias) => (
        <Badge key={alias} kind="info">
          @{alias}
        </Badge>
      ))}
    </span>
  );
}

function RunLink({ runId }: { runId: string | null }): ReactElement {
  if (runId === null) return <>{UNKNOWN}</>;
  return (
    <Link to="/runs/$runId" params={{ runId }}>
      {runId}
    </Link>
  );
}

function DatasetLink({ datasetKey }: { datasetKey: string | null }): ReactElement {
  if (datasetKey === null) return <>{UNKNOWN}</>;
  return (
    <Link to="/datasets/$datasetKey" params={{ datasetKey }}>
      {datasetKey}
    </Link>
  );
}
