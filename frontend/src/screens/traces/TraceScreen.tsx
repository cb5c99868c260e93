import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function TraceScreen(): ReactElement {
  return <Placeholder title="Trace" command="tunix-rt traces show ID" />;
}
