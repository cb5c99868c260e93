import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function EvaluationItemScreen(): ReactElement {
  return <Placeholder title="Item" command="tunix-rt eval show ID" />;
}
