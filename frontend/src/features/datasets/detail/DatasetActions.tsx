import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { DatasetManifest } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { Command } from "../../../ui/copy/Command";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { formatCount } from "../../../ui/display/format";
import { ConfirmDialog } from "../../../ui/feedback/ConfirmDialog";
import { Dialog } from "../../../ui/feedback/Dialog";
import { showError, showToast } from "../../../ui/feedback/toasts";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { Select } from "../../../ui/forms/Select";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import { nextVersionOf } from "../build/form";
import styles from "../datasets.module.css";
import { deleteDataset, exportPath, verifyDataset } from "../queries";

/** The actions of a dataset. */
export function DatasetActions({ manifest }: { manifest: DatasetManifest }): ReactElement {
  const datasetKey = manifest.dataset_key;
  const [open, setOpen] = useState<"export" | "delete" | null>(null);
  const { data: session } = useQuery(sessionQuery);
  const navigate = useNavigate();
  useScreenAction("X-ray this dataset", "x", () => {
    void navigate({ to: "/datasets/$datasetKey/xray", params: { datasetKey } });
  });
  useScreenAction(
    "Train on this dataset",
    NEW_KEY,
    () => void navigate({ to: "/launch", search: { dataset: datasetKey } }),
  );
  const close = (): void => {
    setOpen(null);
  };
  return (
    <>
      <CopyAs snippets={snippets({ cli: `tunix-rt data show ${datasetKey}`, path: `/api/datasets/${datasetKey}` })} />
      <VerifyButton datasetKey={datasetKey} />
      <Button
        kind="quiet"
        onClick={() => {
          setOpen("export");
        }}
      >
        Export…
      </Button>
      {session?.scope === "admin" ? (
        <Button
          kind="quiet"
          onClick={() => {
            setOpen("delete");
          }}
        >
          Delete…
        </Button>
      ) : null}
      <Link to="/datasets/$datasetKey/diff" params={{ datasetKey }} className={buttonClass("quiet")}>
        Compare
      </Link>
      <Link to="/datasets/new" search={nextVersionOf(manifest)} className={buttonClass("quiet")}>
        Next version
      </Link>
      <Link to="/datasets/$datasetKey/xray" params={{ datasetKey }} className={buttonClass()}>
        X-ray
      </Link>
      <Link to="/launch" search={{ dataset: datasetKey }} className={buttonClass("primary")}>
        Train on this dataset
      </Link>
      <ExportDialog manifest={manifest} isOpen={open === "export"} onClose={close} />
      <DeleteDialog datasetKey={datasetKey} isOpen={open === "delete"} onClose={close} />
    </>
  );
}

interface DeleteDialogProps {
  datasetKey: string;
  isOpen: boolean;
  onClose: () => void;
}

function DeleteDialog({ datasetKey, isOpen, onClose }: DeleteDialogProps): ReactElement {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteDataset(datasetKey),
    onSuccess: async () => {
      await navigate({ to: "/datasets" });
      queryClient.removeQueries({ queryKey: ["datasets", "one", datasetKey] });
      await queryClient.invalidateQueries({ queryKey: ["datasets"] });
      showToast(`Deleted ${datasetKey}.`);
    },
    onError: showError,
  });
  return (
    <ConfirmDialog
      title={`Delete ${datasetKey}?`}
      isOpen={isOpen}
      confirmLabel="Delete dataset"
      isDangerous
      onConfirm={() => {
        remove.mutate();
      }}
      onClose={onClose}
    >
      <p>This deletes its rows, statistics and card. The traces stay, and the same build recreates it.</p>
      <p>A dataset used by a run cannot be deleted, because it is part of that run&rsquo;s evidence.</p>
    </ConfirmDialog>
  );
}

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
function ExportDialog({ manifest, isOpen, onClose }: ExportDialogProps): ReactElement {
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

/** Verifies the hashes of the dataset against its manifest. */
function VerifyButton({ datasetKey }: { datasetKey: string }): ReactElement {
  const verify = useMutation({
    mutationFn: () => verifyDataset(datasetKey),
    onSuccess: ({ intact, num_rows, problems }) => {
      if (intact) showToast(`Intact: ${formatCount(num_rows, "row")} read, all hashes match.`);
      else showToast(`Damaged: ${problems.join(" ")}`, "error");
    },
    onError: showError,
  });
  return (
    <Button
      kind="quiet"
      isBusy={verify.isPending}
      onClick={() => {
        verify.mutate();
      }}
    >
      Verify
    </Button>
  );
}
