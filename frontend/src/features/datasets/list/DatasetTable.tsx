import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { formatCount } from "../../../ui/display/format";
import { COLUMNS } from "./columns";
import { NoDatasets } from "./NoDatasets";
import { type DatasetLine, listLines } from "./rows";

interface DatasetTableProps {
  /** Of the key. */
  text: string | undefined;
  chosen: readonly string[];
  onChoose: (chosen: string[]) => void;
}

/** Every dataset of this home; two of them can be chosen to be compared. */
export function DatasetTable({ text, chosen, onChoose }: DatasetTableProps): ReactElement {
  const navigate = useNavigate();
  const rows = usePagedRows<DatasetLine>({
    queryKey: ["datasets", "list", { text }],
    fetchPage: (page) => listLines({ ...page, ...(text !== undefined && { text }) }),
  });

  if (rows.isPending) return <Loading what="Reading the datasets…" />;
  if (rows.error) {
    return <ErrorNotice error={rows.error} title="The datasets could not be read" onRetry={rows.refetch} />;
  }
  if (rows.numRows === 0) {
    return text === undefined ? <NoDatasets /> : <p role="status">No dataset has “{text}” in its key.</p>;
  }
  return (
    <>
      <p role="status">{formatCount(rows.numRows, "dataset")}. Mark two to see what changed between them.</p>
      <VirtualTable
        name="Datasets"
        columns={COLUMNS}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={({ datasetKey }) => datasetKey}
        onRange={rows.onRange}
        onOpen={({ datasetKey }) => void navigate({ to: "/datasets/$datasetKey", params: { datasetKey } })}
        selection={{
          has: ({ datasetKey }) => chosen.includes(datasetKey),
          toggle: ({ datasetKey }) => {
            onChoose(toggled(chosen, datasetKey));
          },
        }}
      />
    </>
  );
}

/** The two that were marked last. */
function toggled(chosen: readonly string[], datasetKey: string): string[] {
  if (chosen.includes(datasetKey)) return chosen.filter((key) => key !== datasetKey);
  return [...chosen, datasetKey].slice(-2);
}
