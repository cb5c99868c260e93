import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { EvidenceFile, EvidenceManifest } from "../../api/schema.gen";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { Card } from "../../ui/display/Card";
import { Facts } from "../../ui/display/Facts";
import { formatBytes, formatCount, formatTime } from "../../ui/display/format";
import { StatusBadge } from "../../ui/display/StatusBadge";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { buttonClass } from "../../ui/forms/Button";
import { Page } from "../../ui/layout/Page";
import { PlainTable, Sentence } from "../../ui/tables/PlainTable";
import styles from "./evidence.module.css";
import { KindBadge } from "./KindBadge";
import { evidenceDownloadPath, evidenceFilePath, evidenceQuery } from "./queries";
import { VerifyCard } from "./VerifyCard";

const route = getRouteApi("/evidence/$runId");

/** One bundle: its summary, its verification and its files. */
export function EvidenceScreen(): ReactElement {
  const { runId } = route.useParams();
  const bundle = useQuery(evidenceQuery(runId));
  if (bundle.isPending || bundle.isError)
    return (
      <Page title={runId}>
        {bundle.isError ? (
          <ErrorNotice error={bundle.error} title="Could not load the bundle" onRetry={() => void bundle.refetch()} />
        ) : (
          <Loading what="Loading bundle…" />
        )}
      </Page>
    );
  return <BundleView key={runId} bundle={bundle.data} />;
}

function BundleView({ bundle }: { bundle: EvidenceManifest }): ReactElement {
  const id = bundle.evidence_id;
  const copied = snippets({
    cli: `tunix-rt evidence verify "\${TUNIX_RT_HOME:-$HOME/.tunix-rt}/evidence/${id}"`,
    method: "POST",
    path: `/api/evidence/${id}/verify`,
  });
  return (
    <Page
      title={id}
      aside={<KindBadge kind={bundle.kind} />}
      actions={
        <>
          <CopyAs snippets={copied} />
          <a className={buttonClass()} href={evidenceFilePath(id, "evidence.html")} target="_blank" rel="noreferrer">
            Open report
          </a>
          <a className={buttonClass()} href={evidenceDownloadPath(id)} download>
            Download as zip
          </a>
        </>
      }
    >
      <p className={styles.headline}>{bundle.headline}</p>
      <VerifyCard evidenceId={id} />
      <Card title="Details">
        <Facts
          facts={{
            Run: (
              <Link to="/runs/$runId" params={{ runId: bundle.run_id }}>
                {bundle.run_id}
              </Link>
            ),
            "Run status": <StatusBadge status={bundle.status} />,
            Packed: formatTime(bundle.created_at),
            "Tunix RT": bundle.tunix_rt_version,
            "Content hash": <code className={styles.hash}>{bundle.content_hash}</code>,
          }}
        />
      </Card>
      <FilesCard bundle={bundle} />
    </Page>
  );
}

const HASH_CHARS = 12;

/** The files with their purpose, and the omitted files with the reason. */
function FilesCard({ bundle }: { bundle: EvidenceManifest }): ReactElement {
  const leftOut = bundle.left_out ?? [];
  const size = bundle.files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return (
    <Card title="Files">
      <p>
        {formatCount(bundle.files.length, "file")}, {formatBytes(size)}
      </p>
      <PlainTable
        name="Files"
        columns={[{ header: "File" }, { header: "Purpose" }, { header: "Size", align: "end" }, { header: "SHA-256" }]}
        rows={bundle.files.map((file) => ({ key: file.path, cells: cellsOf(bundle.evidence_id, file) }))}
      />
      {leftOut.length === 0 ? null : (
        <details>
          <summary>{formatCount(leftOut.length, "file")} of the run omitted, recorded by hash</summary>
          <PlainTable
            name="Omitted files"
            columns={[{ header: "File" }, { header: "Reason" }]}
            rows={leftOut.map(({ path, reason }) => ({
              key: path,
              cells: [path, <Sentence key="reason">{reason}</Sentence>],
            }))}
          />
        </details>
      )}
    </Card>
  );
}

function cellsOf(evidenceId: string, file: EvidenceFile): ReactNode[] {
  return [
    <a key="path" href={evidenceFilePath(evidenceId, file.path)} target="_blank" rel="noreferrer">
      {file.path}
    </a>,
    <Sentence key="proves">{file.proves}</Sentence>,
    formatBytes(file.size_bytes),
    <code key="hash" title={file.sha256}>
      {file.sha256.slice(0, HASH_CHARS)}…
    </code>,
  ];
}
