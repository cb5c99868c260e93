import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { artifactPath, artifactsQuery } from "../../../api/runs";
import type { Artifact, RunDetail } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { formatAgo, formatBytes, formatCount, formatTime } from "../../../ui/text/format";
import styles from "./run.module.css";

/** The files that the run has written, to download. */
export function RunFiles({ run }: { run: RunDetail }): ReactElement {
  const files = useQuery(artifactsQuery(run));
  if (files.isPending) return <Loading what="Looking at the files…" />;
  if (files.isError)
    return <ErrorNotice error={files.error} title="The files could not be read" onRetry={() => void files.refetch()} />;
  const { artifacts, total_bytes } = files.data;
  if (artifacts.length === 0) return <p>There are no files yet: they come with the first step.</p>;
  return (
    <>
      <p role="status">
        {formatCount(artifacts.length, "file")}, {formatBytes(total_bytes)}
      </p>
      <div className={styles.scroller}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">File</th>
              <th scope="col">Size</th>
              <th scope="col">Written</th>
              <th scope="col">SHA-256</th>
            </tr>
          </thead>
          <tbody>
            {artifacts.map((file) => (
              <FileRow key={file.path} runId={run.run_id} file={file} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function FileRow({ runId, file }: { runId: string; file: Artifact }): ReactElement {
  return (
    <tr>
      <th scope="row">
        <a href={artifactPath(runId, file.path)} download>
          {file.path}
        </a>
      </th>
      <td>{formatBytes(file.size)}</td>
      <td>
        <time dateTime={file.modified_at} title={formatTime(file.modified_at)}>
          {formatAgo(file.modified_at)}
        </time>
      </td>
      <td>{file.sha256 == null ? "–" : <code title={file.sha256}>{file.sha256.slice(0, 12)}…</code>}</td>
    </tr>
  );
}
