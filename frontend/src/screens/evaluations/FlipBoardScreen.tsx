import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function FlipBoardScreen(): ReactElement {
  return <Placeholder title="Flip board" command="tunix-rt compare BASE OTHER" />;
}
