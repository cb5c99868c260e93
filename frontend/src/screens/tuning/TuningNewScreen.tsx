import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function TuningNewScreen(): ReactElement {
  return <Placeholder title="New sweep" command="tunix-rt tune SPEC" />;
}
