import type { ReactElement } from "react";
import type { ContaminationReport } from "../../../api/schema.gen";
import { Badge } from "../../../ui/display/Badge";

/** What the comparison with the eval sets came to, in a word. */
export function ContaminationBadge({ verdict }: Pick<ContaminationReport, "verdict">): ReactElement {
  if (verdict === "allowed") {
    return (
      <Badge kind="warn" sign="!">
        holds eval questions
      </Badge>
    );
  }
  return (
    <Badge kind="good" sign="✓">
      {verdict === "clean" ? "no eval question" : "eval questions left out"}
    </Badge>
  );
}
