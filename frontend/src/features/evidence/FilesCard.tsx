import type { ReactElement, ReactNode } from "react";
import { evidenceFilePath } from "./queries";
import type { EvidenceFile, EvidenceManifest } from "../../api/schema.gen";
import { PlainTable, Sentence } from "../../ui/tables/PlainTable";
import { Card } from "../../ui/display/Card";
import { formatBytes, formatCount } from "../../ui/display/format";

const HASH_CHARS = 12;

/** The files with their purpose, and the omitted files with the reason. */
export function FilesCard({ bundle }: { bundle: EvidenceManifest }): ReactElement {
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
