import type { ReactElement, ReactNode } from "react";
import { evidenceFilePath } from "./queries";
import type { EvidenceFile, EvidenceManifest } from "../../api/schema.gen";
import { PlainTable, Sentence } from "../../ui/tables/PlainTable";
import { Card } from "../../ui/display/Card";
import { formatBytes, formatCount } from "../../ui/display/format";

const HASH_CHARS = 12;

/** Every file with what it proves; what was left out, with the reason. */
export function FilesCard({ bundle }: { bundle: EvidenceManifest }): ReactElement {
  const leftOut = bundle.left_out ?? [];
  const size = bundle.files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return (
    <Card title="What each file proves">
      <p>
        {formatCount(bundle.files.length, "file")}, {formatBytes(size)}
      </p>
      <PlainTable
        name="Files"
        columns={[
          { header: "File" },
          { header: "What it proves" },
          { header: "Size", align: "end" },
          { header: "SHA-256" },
        ]}
        rows={bundle.files.map((file) => ({ key: file.path, cells: cellsOf(bundle.evidence_id, file) }))}
      />
      {leftOut.length === 0 ? null : (
        <details>
          <summary>{formatCount(leftOut.length, "file")} of the run left out, named by their hashes</summary>
          <PlainTable
            name="Left out"
            columns={[{ header: "File" }, { header: "Why" }]}
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
