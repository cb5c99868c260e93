import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function RunScreen(): ReactElement {
  return <Placeholder title="Run" command="tunix-rt runs show RUN" />;
}
