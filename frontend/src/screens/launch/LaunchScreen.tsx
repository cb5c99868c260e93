import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function LaunchScreen(): ReactElement {
  return <Placeholder title="Plan & launch" command="tunix-rt plan RECIPE --on TARGET" />;
}
