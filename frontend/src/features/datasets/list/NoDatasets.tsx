import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Command } from "../../../ui/copy/Command";
import { Empty } from "../../../ui/feedback/Empty";
import { buttonClass } from "../../../ui/forms/Button";

export function NoDatasets(): ReactElement {
  return (
    <Empty
      title="No datasets yet"
      actions={
        <Link to="/traces" className={buttonClass()}>
          View traces
        </Link>
      }
    >
      <p>
        A dataset is an immutable selection of traces with splits, statistics and an eval set check. To start with a
        bundled dataset:
      </p>
      <Command>tunix-rt data ingest dev-reasoning-v2</Command>
    </Empty>
  );
}
