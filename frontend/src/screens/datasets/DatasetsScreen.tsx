import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function DatasetsScreen(): ReactElement {
  return <Placeholder title="Datasets" command="tunix-rt data list" />;
}
