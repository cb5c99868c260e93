import type { ReactElement } from "react";
import { Placeholder } from "../../ui/Placeholder";

export function ChatScreen(): ReactElement {
  return <Placeholder title="Chat" command="tunix-rt chat MODEL" />;
}
