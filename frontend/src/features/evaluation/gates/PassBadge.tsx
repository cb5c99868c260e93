import type { ReactElement } from "react";
import { Badge } from "../../../ui/display/Badge";

/** The result of a gate check. */
export function PassBadge({ passed }: { passed: boolean }): ReactElement {
  return (
    <Badge kind={passed ? "good" : "bad"} sign={passed ? "✓" : "✗"}>
      {passed ? "pass" : "fail"}
    </Badge>
  );
}
