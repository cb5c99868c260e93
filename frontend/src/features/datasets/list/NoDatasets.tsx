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
          Look at the traces
        </Link>
      }
    >
      <p>
        A dataset is a choice of traces that never changes: split, counted, and compared with the eval sets. One to try
        things with comes with the program:
      </p>
      <Command>tunix-rt data ingest dev-reasoning-v2</Command>
    </Empty>
  );
}
