import type { ReactElement } from "react";
import { Button } from "../../../ui/forms/Button";
import { Card } from "../../../ui/display/Card";
import { Pairs } from "../parts/Pairs";

const KEYS = {
  "j, k": "next step, step before",
  a: "accept",
  e: "edit",
  x: "reject",
  u: "take the verdict back",
  s: "save",
};

export function KeyHelp({ onAcceptRest }: { onAcceptRest: () => void }): ReactElement {
  return (
    <Card title="Keys">
      <Pairs pairs={KEYS} />
      <div>
        <Button onClick={onAcceptRest}>Accept the rest</Button>
      </div>
    </Card>
  );
}
