import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function DatasetScreen(): ReactElement {
  return <Placeholder title="Dataset" command="tunix-rt data show KEY" />;
}
