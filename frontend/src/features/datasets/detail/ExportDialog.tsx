import { type ReactElement, useState } from "react";
import { exportPath } from "../queries";
import type { DatasetManifest } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { Dialog } from "../../../ui/feedback/Dialog";
import { buttonClass } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import styles from "../datasets.module.css";

interface ExportDialogProps {
  manifest: DatasetManifest;
  isOpen: boolean;
  onClose: () => void;
}

const FORMATS = [
  { value: "trace", label: "traces, unchanged" },
  { value: "messages", label: "messages (chat)" },
  { value: "prompt_completion", label: "prompt and completion (TRL)" },
  { value: "sharegpt", label: "ShareGPT" },
  { value: "alpaca", label: "Alpaca" },
  { value: "tunix_sft", label: "Tunix SFT" },
  { value: "training_example", label: "training example" },
] as const;
const FILE_TYPES = [
  { value: "jsonl", label: "JSONL" },
  { value: "parquet", label: "Parquet" },
] as const;

/** Exports the rows for another tool. */
export function ExportDialog({ manifest, isOpen, onClose }: ExportDialogProps): ReactElement {
  const [format, setFormat] = useState<(typeof FORMATS)[number]["value"]>("trace");
  const [fileType, setFileType] = useState<"jsonl" | "parquet">("jsonl");
  const { dataset_key: key, splits } = manifest;
  return (
    <Dialog title={`Export ${key}`} isOpen={isOpen} onClose={onClose}>
      <div className={styles.stack}>
        <Select label="Row format" value={format} choices={FORMATS} onChange={setFormat} />
        <Select label="File" value={fileType} choices={FILE_TYPES} onChange={setFileType} />
        <div className={styles.row}>
          <a href={exportPath(key, format, fileType)} download className={buttonClass("primary")}>
            Download all splits
          </a>
          {splits.map(({ name }) => (
            <a
              key={name}
              href={`${exportPath(key, format, fileType)}&split=${name}`}
              download
              className={buttonClass()}
            >
              {name} only
            </a>
          ))}
          <a href={`/api/datasets/${key}/card`} target="_blank" rel="noreferrer" className={buttonClass("quiet")}>
            Dataset card
          </a>
        </div>
        <p className={styles.muted}>To export with the card into a directory ready for the Hugging Face Hub:</p>
        <Command>{`tunix-rt data export ${key} --format ${format} --file-type ${fileType} --output ${key}`}</Command>
      </div>
    </Dialog>
  );
}
