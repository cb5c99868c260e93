import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Command } from "../../../ui/copy/Command";
import { Empty } from "../../../ui/feedback/Empty";
import { buttonClass } from "../../../ui/forms/Button";

export function NoEvaluations({ isFiltered }: { isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty title="No evaluation fits these filters">
        <p>Clear the filters, or look for less.</p>
      </Empty>
    );
  }
  return (
    <Empty
      title="No evaluations yet"
      actions={
        <Link to="/evaluations" search={{ evaluating: true }} className={buttonClass()}>
          Choose a model to evaluate
        </Link>
      }
    >
      <p>
        An evaluation asks a model every question of an eval set and checks each answer. Evaluate the base model too:
        only then is it known what training was worth.
      </p>
      <Command>tunix-rt eval RUN --eval-set eval_v2</Command>
    </Empty>
  );
}
