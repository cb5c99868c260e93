import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { evidenceListQuery } from "./queries";
import type { EvidenceRow } from "../../api/schema.gen";
import { sessionQuery } from "../../api/session";
import { Command } from "../../ui/copy/Command";
import { CopyAs } from "../../ui/copy/CopyAs";
import { snippets } from "../../ui/copy/snippets";
import { PlainTable, Sentence } from "../../ui/tables/PlainTable";
import { Empty } from "../../ui/feedback/Empty";
import { ErrorNotice } from "../../ui/feedback/ErrorNotice";
import { Loading } from "../../ui/feedback/Loading";
import { Button } from "../../ui/forms/Button";
import { Page } from "../../ui/layout/Page";
import { formatAgo, formatBytes, formatCount, formatNumber, formatTime } from "../../ui/display/format";
import { KindBadge } from "./KindBadge";
import { PackDialog } from "./PackDialog";

const route = getRouteApi("/evidence");

/** The list of evidence bundles. */
export function EvidenceListScreen(): ReactElement {
  const { packing = false, run = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: session } = useQuery(sessionQuery);
  const canWrite = session !== undefined && session.scope !== "read";
  const show = (isPacking: boolean): void => {
    void navigate({ search: isPacking ? { packing: true } : {} });
  };
  return (
    <Page
      title="Evidence"
      about="Bundles with the evidence of a run. Anyone can hash, recompute and rescore them."
      actions={
        <>
          <CopyAs snippets={snippets({ cli: "tunix-rt evidence list", path: "/api/evidence" })} />
          {canWrite ? (
            <Button
              kind="primary"
              onClick={() => {
                show(true);
              }}
            >
              Pack a run
            </Button>
          ) : null}
        </>
      }
    >
      <Bundles />
      <PackDialog
        key={run}
        runId={run}
        isOpen={packing && canWrite}
        onClose={() => {
          show(false);
        }}
      />
    </Page>
  );
}

const COLUMNS = [
  { header: "Bundle" },
  { header: "Kind" },
  { header: "Summary" },
  { header: "Files", align: "end" as const },
  { header: "Size", align: "end" as const },
  { header: "Signed" },
  { header: "Packed" },
];

function Bundles(): ReactElement {
  const list = useQuery(evidenceListQuery);
  if (list.isPending) return <Loading what="Loading bundles…" />;
  if (list.isError)
    return <ErrorNotice error={list.error} title="Could not load the bundles" onRetry={() => void list.refetch()} />;
  const { data, damaged, pagination } = list.data;
  return (
    <>
      {damaged.length === 0 ? null : (
        <p role="alert">The file list of {damaged.join(", ")} was changed or is damaged. Pack the run again.</p>
      )}
      {data.length === 0 ? <NoBundles /> : <p role="status">{formatCount(pagination.total, "bundle")}</p>}
      {data.length === 0 ? null : (
        <PlainTable
          name="Bundles"
          columns={COLUMNS}
          rows={data.map((row) => ({ key: row.evidence_id, cells: cellsOf(row) }))}
        />
      )}
    </>
  );
}

function cellsOf(row: EvidenceRow): ReactNode[] {
  return [
    <Link key="bundle" to="/evidence/$runId" params={{ runId: row.evidence_id }}>
      {row.evidence_id}
    </Link>,
    <KindBadge key="kind" kind={row.kind} />,
    <Sentence key="headline">{row.headline}</Sentence>,
    formatNumber(row.num_files),
    formatBytes(row.size_bytes),
    row.is_signed ? "signed" : "no",
    <time key="created" title={formatTime(row.created_at)}>
      {formatAgo(row.created_at)}
    </time>,
  ];
}

function NoBundles(): ReactElement {
  return (
    <Empty title="No evidence yet">
      <p>
        A bundle contains the evidence of a run: its data, code, environment, steps and answers. Anyone can hash,
        recompute and rescore all of it.
      </p>
      <Command>tunix-rt evidence pack RUN</Command>
    </Empty>
  );
}
