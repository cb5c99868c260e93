import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Command } from "../../../ui/copy/Command";
import { Empty } from "../../../ui/feedback/Empty";
import { buttonClass } from "../../../ui/forms/Button";

export function NoEvaluations({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No evaluations match these filters">
        <p>Clear the filters or broaden the search.</p>
      </Empty>
    );
  }
  return (
    <Empty
      title="No evaluations yet"
      actions={
        <Link to="/evaluations" search={{ evaluating: true }} className={buttonClass()}>
          Evaluate a model
        </Link>
      }
    >
      <p>
        An evaluation asks a model every question of an eval set and checks each answer. Evaluate the base model too, to
        measure what training gained.
      </p>
      <Command>tunix-rt eval RUN --eval-set eval_v2</Command>
    </Empty>
  );
}
