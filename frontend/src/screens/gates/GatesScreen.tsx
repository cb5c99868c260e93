import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function GatesScreen(): ReactElement {
  return <Placeholder title="Gates" command="tunix-rt baselines list" />;
}
