import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function CompareScreen(): ReactElement {
  return <Placeholder title="Compare runs" command="tunix-rt compare BASE OTHER" />;
}
