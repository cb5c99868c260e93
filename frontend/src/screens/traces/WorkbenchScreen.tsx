import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function WorkbenchScreen(): ReactElement {
  return <Placeholder title="Step workbench" command="tunix-rt traces show ID" />;
}
