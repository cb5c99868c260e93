import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function TracesScreen(): ReactElement {
  return <Placeholder title="Traces" command="tunix-rt traces list" />;
}
