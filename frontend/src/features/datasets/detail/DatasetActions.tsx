import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import type { DatasetManifest } from "../../../api/schema.gen";
import { sessionQuery } from "../../../api/session";
import { CopyAs } from "../../../ui/copy/CopyAs";
import { snippets } from "../../../ui/copy/snippets";
import { Button, buttonClass } from "../../../ui/forms/Button";
import { NEW_KEY, useScreenAction } from "../../../ui/navigation/useScreenAction";
import { nextVersionOf } from "../build/form";
import { DeleteDialog } from "./DeleteDialog";
import { ExportDialog } from "./ExportDialog";
import { VerifyButton } from "./VerifyButton";

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
