import type { ReactElement } from "react";
import type { EvidenceRow } from "../../api/schema.gen";
import { Badge } from "../../ui/display/Badge";

/** Whether a bundle proves a success, or reports a failure. */
export function KindBadge({ kind }: { kind: EvidenceRow["kind"] }): ReactElement {
  return kind === "evidence" ? (
    <Badge kind="info" sign="✓">
      evidence
    </Badge>
  ) : (
    <Badge kind="warn" sign="!">
      failure report
    </Badge>
  );
}
