import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function EvidenceListScreen(): ReactElement {
  return <Placeholder title="Evidence" command="tunix-rt runs list" />;
}
