import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { formatCount } from "../../../ui/display/format";
import { COLUMNS } from "./columns";
import { NoDatasets } from "./NoDatasets";
import { type DatasetListRow, listRows } from "./rows";

interface DatasetTableProps {
  /** Part of the dataset key to search for. */
  text: string | undefined;
  chosen: readonly string[];
  onChoose: (chosen: string[]) => void;
}

/** Every dataset of this home. Two of them can be selected to compare. */
export function DatasetTable({ text, chosen, onChoose }: DatasetTableProps): ReactElement {
  const navigate = useNavigate();
  const rows = usePagedRows<DatasetListRow>({
    queryKey: ["datasets", "list", { text }],
    fetchPage: (page) => listRows({ ...page, ...(text !== undefined && { text }) }),
  });

  if (rows.isPending) return <Loading what="Loading datasets…" />;
  if (rows.error) {
    return <ErrorNotice error={rows.error} title="Could not load the datasets" onRetry={rows.refetch} />;
  }
  if (rows.numRows === 0) {
    return text === undefined ? <NoDatasets /> : <p role="status">No dataset key contains “{text}”.</p>;
  }
  return (
    <>
      <p role="status">{formatCount(rows.numRows, "dataset")}. Select two to compare them.</p>
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

/** The two that were selected last. */
function toggled(chosen: readonly string[], datasetKey: string): string[] {
  if (chosen.includes(datasetKey)) return chosen.filter((key) => key !== datasetKey);
  return [...chosen, datasetKey].slice(-2);
}
