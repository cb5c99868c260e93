import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function HomeScreen(): ReactElement {
  return <Placeholder title="Home" command="tunix-rt --help" />;
}
