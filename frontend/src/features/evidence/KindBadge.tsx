import type { ReactElement } from "react";
import type { EvidenceRow } from "../../api/schema.gen";
import { Badge } from "../../ui/display/Badge";

/** Whether a bundle is evidence of a success or a failure report. */
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
