import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function TuningJobScreen(): ReactElement {
  return <Placeholder title="Sweep" command="tunix-rt tune SPEC" />;
}
