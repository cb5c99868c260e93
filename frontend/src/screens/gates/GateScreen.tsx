import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function GateScreen(): ReactElement {
  return <Placeholder title="Gate" command="tunix-rt gate ID --baseline NAME" />;
}
