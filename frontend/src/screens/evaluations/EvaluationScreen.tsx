import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function EvaluationScreen(): ReactElement {
  return <Placeholder title="Evaluation" command="tunix-rt eval show ID" />;
}
