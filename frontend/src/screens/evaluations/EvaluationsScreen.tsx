import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function EvaluationsScreen(): ReactElement {
  return <Placeholder title="Evaluations" command="tunix-rt eval list" />;
}
