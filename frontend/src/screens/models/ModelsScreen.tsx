import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function ModelsScreen(): ReactElement {
  return <Placeholder title="Models" command="tunix-rt models list" />;
}
