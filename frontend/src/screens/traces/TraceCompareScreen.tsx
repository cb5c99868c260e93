import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function TraceCompareScreen(): ReactElement {
  return <Placeholder title="Compare traces" command="tunix-rt traces show ID" />;
}
