import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function RunsScreen(): ReactElement {
  return <Placeholder title="Runs" command="tunix-rt runs list" />;
}
