import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function XrayScreen(): ReactElement {
  return <Placeholder title="X-ray" command="tunix-rt data xray KEY --model tiny" />;
}
