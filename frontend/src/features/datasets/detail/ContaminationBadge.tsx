import type { ReactElement } from "react";
import type { ContaminationReport } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";

/** The result of the eval set check. */
export function ContaminationBadge({ verdict }: Pick<ContaminationReport, "verdict">): ReactElement {
  if (verdict === "allowed") {
    return (
      <Badge kind="warn" sign="!">
        contains eval questions
      </Badge>
    );
  }
  return (
    <Badge kind="good" sign="✓">
      {verdict === "clean" ? "no eval questions" : "eval questions removed"}
    </Badge>
  );
}
