import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function ModelVersionScreen(): ReactElement {
  return <Placeholder title="Model version" command="tunix-rt models show NAME@VERSION" />;
}
