import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function DatasetBuildScreen(): ReactElement {
  return <Placeholder title="Build a dataset" command="tunix-rt data build --name NAME" />;
}
