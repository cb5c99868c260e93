import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function DatasetDiffScreen(): ReactElement {
  return <Placeholder title="What changed between versions" command="tunix-rt data show KEY" />;
}
