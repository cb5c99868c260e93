import type { ReactElement } from "react";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { KeyValueList } from "../parts/KeyValueList";

const KEYS = {
  "j, k": "next step, previous step",
  a: "accept",
  e: "edit",
  x: "reject",
  u: "clear the verdict",
  s: "save",
};

export function KeyHelp({ onAcceptRest }: { onAcceptRest: () => void }): ReactElement {
  return (
    <Card title="Keys">
      <KeyValueList entries={KEYS} />
      <div>
        <Button onClick={onAcceptRest}>Accept the rest</Button>
      </div>
    </Card>
  );
}
