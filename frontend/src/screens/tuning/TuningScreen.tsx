import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function TuningScreen(): ReactElement {
  return <Placeholder title="Tuning" command="tunix-rt tune SPEC" />;
}
