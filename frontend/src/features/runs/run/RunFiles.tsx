import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { artifactPath, artifactsQuery } from "../queries";
import type { Artifact, RunDetail } from "../../../api/schema.gen";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { formatAgo, formatBytes, formatCount, formatTime } from "../../../ui/display/format";
import styles from "./run.module.css";

/** The files of the run, with download links. */
export function RunFiles({ run }: { run: RunDetail }): ReactElement {
  const files = useQuery(artifactsQuery(run));
  if (files.isPending) return <Loading what="Loading files…" />;
  if (files.isError)
    return <ErrorNotice error={files.error} title="Could not load the files" onRetry={() => void files.refetch()} />;
  const { artifacts, total_bytes } = files.data;
  if (artifacts.length === 0) return <p>No files yet. They are written with the first step.</p>;
  return (
    <>
      <p role="status">
        {formatCount(artifacts.length, "file")}, {formatBytes(total_bytes)}
      </p>
      {groupsOf(artifacts).map(([folder, files]) => (
        <details key={folder} open={!folder.startsWith("checkpoints/")} className={styles.group}>
          <summary>
            {folder === "" ? "Run" : folder}: {formatCount(files.length, "file")},{" "}
            {formatBytes(files.reduce((sum, { size }) => sum + size, 0))}
          </summary>
          <FileTable runId={run.run_id} files={files} />
        </details>
      ))}
    </>
  );
}

/** Groups files by folder, one group per checkpoint, most important first. */
export function groupsOf(files: readonly Artifact[]): [string, Artifact[]][] {
  const groups = new Map<string, Artifact[]>();
  for (const file of files) {
    const folders = file.path.split("/").slice(0, -1);
    const folder = folders.slice(0, folders[0] === "checkpoints" ? 2 : 1).join("/");
    groups.set(folder, [...(groups.get(folder) ?? []), file]);
  }
  const rank = (folder: string): number => (folder === "" ? 0 : folder.startsWith("checkpoints") ? 2 : 1);
  return [...groups].sort(([a], [b]) => rank(a) - rank(b));
}

function FileTable({ runId, files }: { runId: string; files: readonly Artifact[] }): ReactElement {
  return (
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
          {files.map((file) => (
            <FileRow key={file.path} runId={runId} file={file} />
          ))}
        </tbody>
      </table>
    </div>
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
