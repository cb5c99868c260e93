import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { referenceOf, verifyVersion, versionDownloadPath, versionFilesQuery } from "../queries";
import type { VersionDetail, VersionVerdict } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { PlainTable } from "../../../ui/tables/PlainTable";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { Badge } from "../../../ui/display/Badge";
import { formatBytes } from "../../../ui/display/format";
import styles from "../models.module.css";

/** The registered files with their hashes, to verify or download. */
export function FilesTab({ version }: { version: VersionDetail }): ReactElement {
  const verify = useMutation({ mutationFn: () => verifyVersion(version.id) });
  return (
    <>
      <p>
        Content hash: <code className={styles.hash}>{version.content_hash}</code>
      </p>
      <div className={styles.row}>
        <Button
          isBusy={verify.isPending}
          onClick={() => {
            verify.mutate();
          }}
        >
          Verify files
        </Button>
        <a className={buttonClass()} href={versionDownloadPath(version.id)} download>
          Download as zip
        </a>
        <Command>{`tunix-rt models verify ${referenceOf(version)}`}</Command>
      </div>
      <div role="status">{verify.data ? <Verdict verdict={verify.data} /> : null}</div>
      {verify.isError ? <ErrorNotice error={verify.error} title="Could not verify the files" /> : null}
      <Files versionId={version.id} />
    </>
  );
}

function Verdict({ verdict }: { verdict: VersionVerdict }): ReactElement {
  if (verdict.problems.length === 0) {
    return (
      <Badge kind="good" sign="✓">
        {formatBytes(verdict.size_bytes)} read: all bytes match the registry
      </Badge>
    );
  }
  return (
    <>
      <Badge kind="bad" sign="✕">
        damaged
      </Badge>
      <ul>
        {verdict.problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </>
  );
}

function Files({ versionId }: { versionId: string }): ReactElement {
  const files = useQuery(versionFilesQuery(versionId));
  if (files.isPending) return <Loading what="Loading files…" />;
  if (files.isError)
    return <ErrorNotice error={files.error} title="Could not load the files" onRetry={() => void files.refetch()} />;
  const columns = [{ header: "File" }, { header: "Size", align: "end" as const }, { header: "SHA-256" }];
  const rows = files.data.files.map((file) => ({
    key: file.path,
    cells: [file.path, formatBytes(file.size_bytes), <code key="hash">{file.sha256}</code>],
  }));
  return <PlainTable name="Files" columns={columns} rows={rows} />;
}
