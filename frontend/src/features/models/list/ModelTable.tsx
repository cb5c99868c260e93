import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { listModels } from "../queries";
import type { RegisteredModel } from "../../../api/schema.gen";
import { Command } from "../../../ui/copy/Command";
import { Empty } from "../../../ui/feedback/Empty";
import { ErrorNotice } from "../../../ui/feedback/ErrorNotice";
import { Loading } from "../../../ui/feedback/Loading";
import type { Column } from "../../../ui/tables/columns";
import { usePagedRows } from "../../../ui/tables/usePagedRows";
import { VirtualTable } from "../../../ui/tables/VirtualTable";
import { Badge } from "../../../ui/display/Badge";
import { formatAgo, formatCount, formatNumber, formatTime, UNKNOWN } from "../../../ui/display/format";
import styles from "../models.module.css";

/** The registered models. */
export function ModelTable(): ReactElement {
  const navigate = useNavigate();
  const rows = usePagedRows<RegisteredModel>({ queryKey: ["models", "list"], fetchPage: listModels });
  if (rows.isPending) return <Loading what="Loading models…" />;
  if (rows.error) return <ErrorNotice error={rows.error} title="Could not load the models" onRetry={rows.refetch} />;
  if (rows.numRows === 0) return <NoModels />;
  return (
    <>
      <p role="status">{formatCount(rows.numRows, "model")}</p>
      <VirtualTable
        name="Models"
        columns={COLUMNS}
        numRows={rows.numRows}
        rowAt={rows.rowAt}
        rowKey={(model) => model.id}
        onRange={rows.onRange}
        onOpen={(model) => void navigate({ to: "/models/$model", params: { model: model.name } })}
      />
    </>
  );
}

const COLUMNS: Column<RegisteredModel>[] = [
  {
    key: "name",
    header: "Model",
    width: "minmax(9rem, 2fr)",
    cell: ({ name }) => (
      <Link to="/models/$model" params={{ model: name }} title={name}>
        {name}
      </Link>
    ),
  },
  {
    key: "versions",
    header: "Versions",
    width: "6rem",
    align: "end",
    cell: ({ num_versions }) => formatNumber(num_versions),
  },
  { key: "aliases", header: "Aliases", width: "minmax(9rem, 2fr)", cell: (model) => <AliasesOf model={model} /> },
  {
    key: "description",
    header: "Description",
    isSecondary: true,
    width: "minmax(8rem, 3fr)",
    cell: ({ description }) => <span title={description ?? ""}>{description ?? UNKNOWN}</span>,
  },
  {
    key: "updated",
    header: "Updated",
    width: "7rem",
    isSecondary: true,
    cell: ({ updated_at }) => <time title={formatTime(updated_at)}>{formatAgo(updated_at)}</time>,
  },
];

function AliasesOf({ model }: { model: RegisteredModel }): ReactElement {
  const aliases = Object.entries(model.aliases ?? {});
  if (aliases.length === 0) return <>{UNKNOWN}</>;
  return (
    <span className={styles.badges}>
      {aliases.map(([alias, version]) => (
        <Badge key={alias} kind="info">
          @{alias} → {version}
        </Badge>
      ))}
    </span>
  );
}

function NoModels(): ReactElement {
  return (
    <Empty title="No models yet">
      <p>
        A registered model stores the weights of a run under a name, with their lineage and evaluations. Versions are
        immutable; an alias such as <code>@champion</code> points to the current one.
      </p>
      <Command>tunix-rt models register my-model --run RUN</Command>
    </Empty>
  );
}
