import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function ModelScreen(): ReactElement {
  return <Placeholder title="Model" command="tunix-rt models show NAME" />;
}
