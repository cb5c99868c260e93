import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function EvidenceScreen(): ReactElement {
  return <Placeholder title="Evidence of a run" command="tunix-rt runs show RUN" />;
}
